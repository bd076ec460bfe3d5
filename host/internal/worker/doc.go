// Package worker runs guests in child processes that can be killed: the sandbox of package
// sandbox, in a process with an empty environment, no secrets and no network. A child knows
// its folders and the pipes to its parent. Its end is a typed failure of the one call that
// it was running.
//
// A child is the program itself, started again with Argument as its last argument. So
// every program that Config.Command names begins with
//
//	if code, ok := worker.Main(worker.Tasks{worker.Manifests: judge.Serve}); ok {
//		os.Exit(code)
//	}
//
// and so does the TestMain of a test binary that names itself.
//
// # The parent
//
// A [Pool] starts, keeps and discards child processes. A [Module] is a loaded plugin.
// The way of a call through the files:
//
//	module.go   Module.Call: admit, find a worker, run, release
//	wait.go     an idle worker, or the first that becomes free or was started
//	call.go     one call: deadline, the loop that reads frames
//	shift.go    a call that computes for long gives way to others
//	answer.go   what a worker sends during a call, and what it may send
//	process.go  a child process as its parent sees it, and how it was lost
//	idle.go     workers without calls
//	compile.go  compiling in a child; package quarantine lists what could not be compiled
//	helper.go   a child that checks manifests, for package judge
//
// protocol.go, meta.go, packed.go and failure.go define the frames; package frames
// carries them.
//
// The parent does not trust a child. Every length is checked before memory is allocated,
// every count is bounded, every text is cleaned, and an invalid frame ends the child. Beyond
// its folders a call reaches all through the parent, which has the policy and the secrets.
//
// # The child
//
// child.go reads a call, runs it, decodes its answer and writes its result; package
// memtrim returns memory to the system; package confine restricts the process: a child is sealed before it handles what a stranger made. A child ends with
// its parent: the kernel kills it when the thread that started it ends, and while it
// waits it finds its pipe closed.
//
// In a child the loops of a guest make no checks and run at full speed; the deadline is the
// parent's kill. Under the race detector a child has no limit of memory, because the detector
// needs more; tests of memory use the small program in ./child, built without it.
package worker
