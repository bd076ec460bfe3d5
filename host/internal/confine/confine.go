// Package confine restricts the process that runs a guest. What the WebAssembly sandbox
// promises should hold even if a guest breaks out of it and runs native code.
//
// The parent calls [Hide] before it starts children, and [Thread] in the thread that starts
// them. A child then calls [Harden], which hides its memory, [CloseInherited], which closes
// descriptors that it was not given on purpose, and [Bind], which sets its limits of memory,
// CPU time and descriptors. Before it handles anything that a stranger made it calls [Seal]:
// from then on it makes the system calls of a short list, opens files in the folders of its
// [Set] alone, and has no capability that these do not need. None of it can be undone.
package confine

// Bounds are the limits that the kernel enforces for a process; 0: no limit.
type Bounds struct {
	Data  int64 // bytes of private writable memory
	CPU   int64 // seconds of CPU time
	Files int64 // open descriptors
}

// A Set is what stays open to a child that is sealed, beside its pipes.
type Set struct {
	Folders []Folder
	Files   []int // descriptors of files in memory, which it may map
	Code    bool  // it may make code executable, as a compiler does
}

// A Folder is one that a child may use.
type Folder struct {
	FD    int  // its open descriptor
	Write bool // false: nothing in it can be changed
	Own   bool // everything in it belongs to this user, so that no capability is needed
}

// Walls are what [Seal] does on this system beside giving up capabilities.
type Walls struct {
	Calls    bool // there is a list of system calls
	Landlock int  // the version of Landlock; 0: there is none
	Linked   bool // this program was built with cgo, so that there are none
	Root     bool // the parent is root
	Nobody   bool // so a child without folders becomes another user
}

// writes reports whether one of the folders may be changed.
func (s Set) writes() bool {
	for _, f := range s.Folders {
		if f.Write {
			return true
		}
	}
	return false
}
