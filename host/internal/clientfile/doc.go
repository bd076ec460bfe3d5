// Package clientfile writes weir into the configuration files of client programs, and takes
// it out again. Everything else in such a file stays as it is, comments included; a file that
// cannot be read as what it should be is left alone. Agents are the coding agents that weir
// knows, with the values that each needs; a Record is what was written, and what was there
// before.
//
// # Files
//
//   - agents: what each program needs, and where
//   - file: reads and writes one file
//   - edit: sets and removes values of a text
//   - record: what was written
package clientfile
