// Package scriptproc runs scripts in child processes, a step at a time: a script that has
// taken over its engine has a process without network, files and secrets.
//
// An [Engine] has a few slots, each a process that runs the engine of package scriptvm. A
// [Script] needs a slot while it computes. A script that waits leaves its slot as soon
// as another needs it, and after a moment in any case: its state is then a snapshot in the
// parent's memory. What a process hands over is bounded before the parent decodes it, and
// whatever it says is data that the caller checks.
//
// Where the system has no such processes, the slots are in this process.
//
// # Files
//
//   - engine: the slots, and who gets one next
//   - script: one script, in a slot or packed
//   - slot: what a slot does; local: one in this process
//   - child: one in a process, as the parent sees it
//   - serve: the process
package scriptproc
