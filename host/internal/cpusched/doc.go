// Package cpusched shares the CPU cores among worker processes, so that short calls
// stay fast while other guests compute for seconds.
//
// # The problem
//
// A guest that computes without pause takes a whole core. With one such guest per
// core, each short call (15 to 100 µs) waits for the kernel's next timer tick,
// several milliseconds, every time that one process wakes the other. The kernel's own
// remedies do not fit: a thread that was given a lower priority cannot raise it again
// without privileges, a nice value still waits for the tick, and both count only
// within one session where the kernel groups sessions.
//
// # The solution
//
// A [Scheduler] keeps a list of tasks: processes that compute for long, or may do so.
// Short calls are not tasks; they are counted only.
//
//	          more than ShortCallTime            uses > 1/4 of its time
//	short call ------------------> task, waits ------------------------> task, computes
//	    |                          for I/O: not paused                       |  ^
//	    v                                                             Pause  v  |  Resume
//	 finished                                                      task, paused (SIGSTOP)
//
// While short calls come, one core is free of computing tasks, and one more for each
// short call that runs. The other cores go round among the plugins, and among the
// tasks of each plugin, in slices of 40 ms (10 ms if a process waits for its start).
// Tasks that get no core are paused with SIGSTOP. They are paused for at most half of
// the time, and without short calls they have all cores.
//
// Signals arrive late: the sender needs a core first. So a computing task is also put
// into the kernel's idle class (SCHED_IDLE) while short calls come, if the process may
// take it out again; see [CanUseIdleClass]. Where it may not, this process and its
// waiting workers ask for the shortest time slices of the kernel (Linux 6.12 or newer).
//
// # Who calls what
//
// Package worker calls BeginShort and EndShort around each call, Promote when a call
// has lasted for ShortCallTime, Join for a call of a plugin that computed for long the
// last time, Wait and Bind around the start of a process, and End when a task is over.
// A [Process] is what the Scheduler pauses; [OSProcess] is the real one, and the tests
// use a simulated one under synctest.
//
// # What it is worth
//
// 99 % of honest calls beside 51 hostile guests, in processes, finish within 0.47 to
// 0.69 ms (0.38 to 0.45 ms on a quiet machine); without it they take up to a second
// (docs/security.md). Without the idle class, p99 is about twice as long; with short
// slices in its place 16 callers over MCP get 8 % less done (RATIONALE.md).
package cpusched
