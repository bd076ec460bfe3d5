// Package tool is the contract between everyone who touches a tool: the
// plugin author, the host that runs it, the agent that asks for it and the
// operator who limits it. It holds plain data and imports only the standard
// library, so that any of them can be replaced without the others noticing.
//
// Units are stated on every field. A character is a Unicode code point of the
// normalised text (see package limit); a line is a newline, plus one for an
// unended last line.
package tool
