// Package jail lets a guest see chosen folders of this machine and nothing
// else. Every path is resolved through an os.Root, so no symbolic link and no
// ".." leads out, whoever made the link and whenever. A mount is read-only
// unless it says otherwise, links cannot be created, and only regular files
// and folders open: a pipe or a device could hold a call up for ever.
//
// What one call may keep open and write is bounded, too: 256 files at once and
// 1 GiB together, paths of 4,096 bytes and 255 names. A disk can still be
// filled call by call; whoever grants writing grants that.
//
// Hard links are beyond it: a second name of a file is the file.
//
// The file system it offers is the engine's own experimental interface; that
// is the only thing this package knows about WebAssembly.
//
// # Files
//
//   - jail: mounts
//   - volume, file, parent: what a guest opens
//   - hide: what it cannot see
//   - bounds: how much it may open and write
//   - lend: folders for a child process
package jail
