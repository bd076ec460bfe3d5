// Package confine restricts the process that runs a guest. What the WebAssembly sandbox
// promises should hold even if a guest breaks out of it.
//
// The parent calls [Thread] in the thread that starts the children: they inherit a
// filter of system calls without network and without access to other processes. A
// child then calls [Harden], which hides its memory and lets it start no process,
// [CloseInherited], which closes descriptors that it was not given on purpose, and
// [Bind], which sets its limits of memory, CPU time and descriptors. None of it can be
// undone.
package confine

// Bounds are the limits that the kernel enforces for a process; 0: no limit.
type Bounds struct {
	Data  int64 // bytes of private writable memory
	CPU   int64 // seconds of CPU time
	Files int64 // open descriptors
}
