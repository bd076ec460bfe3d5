// Package worker runs guests in disposable child processes: the same sandbox,
// in a process that can be killed. A child has an empty environment, no secrets
// and no network; it knows the folders it was lent, the pipes to its parent and
// the memory that both share.
// Whatever becomes of it is a typed failure of the one call it was busy with.
//
// A child is the program itself, started again with Argument as its last
// argument. Every program that is named in Config.Command therefore begins with
//
//	if code, ok := worker.Main(); ok {
//		os.Exit(code)
//	}
//
// and so does the TestMain of a test binary that names itself there. Under the
// race detector the bound on a child's memory is left out, for the detector's
// own memory is larger; tests about memory use the small program in ./child,
// built without it by guesttest.Worker.
//
// The parent trusts nothing that a child says: every length is checked against a
// cap before anything is allocated, every count is bounded, every text is
// cleaned, and a frame that does not fit ends the child. What a call may reach
// beyond its folders, it reaches through the parent, which holds the policy and
// the secrets and does the dialing.
//
// A child ends with its parent: the kernel kills it when the thread that started
// it ends, whatever its guest does, and while it waits it finds its pipe closed.
//
// In a child the loops of a guest make no checks, so they run at full speed; its
// deadline is its parent's kill.
package worker
