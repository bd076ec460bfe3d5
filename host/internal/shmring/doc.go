// Package shmring carries frames between a parent process and its child: short ones
// through ring buffers in shared memory, long ones through pipes.
//
// A call of an echo tool takes 8 µs in its worker. Over pipes the way there and back
// took 30 to 60 µs, because each side slept while the other one worked, and waking a
// thread whose core sleeps takes 5 to 50 µs. With the rings, one call after the other
// takes 9 to 14 µs in all, because two sides that are both awake need no system call.
//
//	parent                         Region (memfd, size sealed)              child
//	Writer --- frames <= 16 KiB --> ring ToChild  -------------------------> Reader
//	   \------ longer frames -----> pipe in --------------------------------/
//	Reader <----------------------- ring ToParent <------------------------- Writer
//	   \--------------------------- pipe out <--- longer frames ------------/
//	Claims <----------------------- claim slots ---------------------------> Claims
//
// How the parts work together:
//
//   - A [Writer] puts a frame into the ring only if no earlier frame is still in the
//     pipe, so the order stays. If the reader sleeps, the Writer wakes it with one
//     byte in the pipe, a bell.
//   - A [Reader] that expects a frame polls the ring for a moment ([Reader.Poll])
//     before it sleeps at its pipe. Polling costs a core, so after failures it is
//     tried less often, down to once in 64 times. The end of the pipe is also how a
//     Reader learns that the other side has ended.
//   - [Claims] decide which side has a call that waits in the pipe: the child claims a
//     call before it begins it, and the parent takes back what it wants to give to
//     another worker. One compare-and-swap decides, so no call runs twice.
//   - A [Link] is all of it as the parent creates it for a new child.
//
// The parent does not trust the child. Lengths are checked before memory is allocated,
// frames are copied out of the ring before they are read, and a counter or a bell that
// cannot be right is [ErrProtocol]. The size of the memory is sealed: a child that
// truncated it would have its parent killed.
package shmring
