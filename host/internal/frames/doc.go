// Package frames carries messages between a parent process and its child through two
// pipes, one in each direction. A frame is a kind, a small part and data, with the
// lengths of both before them. Each pipe has one reader.
//
//	parent                            child
//	Writer ---> Link.In  -----------> Reader
//	Reader <--- Link.Out <----------- Writer
//
// The parent does not trust the child: the lengths are checked before memory is
// allocated, and a frame that is not allowed is [ErrProtocol]. It shares no memory with
// the child. The end of the pipe is how each side learns that the other one has ended.
// The package knows no kinds: those are its users'. Begin with frame.go.
package frames
