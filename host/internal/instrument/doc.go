// Package instrument changes a module before an engine compiles it, so that its
// instances can be stopped and used again. It turns bytes into bytes, the same
// each time, and knows no engine.
//
// # Stopping
//
// With Options.Stop the module exports the mutable global weir:stop, and its
// code traps (unreachable) within milliseconds after the host made that
// something else than zero. It pays for what it does out of a counter, and each
// time the counter is used up, after a millisecond or so, it goes into the
// engine's own code for a moment and looks at weir:stop.
//
// A look at weir:stop alone would be cheaper still and is not enough. Machine
// code cannot be interrupted by Go's scheduler: the garbage collector of the
// host would wait for the guest, all its other goroutines for the collector,
// and nobody would be left to set weir:stop.
//
// Payments stand in loops; in each function, on every way that leads to a call;
// before every instruction that works on a stretch of memory or of a table, by
// its length; and every 512 bytes of straight code, for half the file could be
// one line of it, and a deep recursion runs such a line once more for each
// caller on its way back. A host function that blocks is the host's to stop.
//
// After such a trap the instance is as sound as after a return: the host clears
// weir:stop and renews it.
//
// # Renewing
//
// With Options.Renew the module exports two functions without parameters or
// results. The host calls weir:save once, when the instance has come to the
// state that each call shall begin with, and takes an image of its memory then.
// After a call it puts the memory's bytes back and calls weir:restore, which
// puts back the memory's size and every global that can have changed. Both or
// neither: a guest whose stack pointer belongs to another memory is broken.
//
// No instruction shrinks a memory. weir:restore runs memory.grow by one page
// when the memory is larger than it was at weir:save, and the host's allocator
// answers with the slice of the old size. For that the maximum that a module
// declares is raised by one page, and the module's own memory.grow is held to
// the former one by code; without a declared maximum it is the engine's limit
// of pages that must leave room for one page more than the guest may have. If
// the size is then not what it was, weir:restore traps; it traps too when
// nothing was saved. After either the instance must be thrown away.
//
// A second instance of the module can begin where the first one's calls do,
// without coming there by itself, if Result.Portable says so: the host puts the
// image into its memory, calls weir:save for the memory's size, sets the exported
// globals to what the first one's are, and calls weir:restore.
//
// With Options.Used the module exports the mutable global weir:used, which is 1
// once an exported function of it was called. While it is still what the host
// made it, 0, nothing in the instance has changed, if nobody else can write to
// its memory, and there is nothing to put back.
//
// # What else an instance could remember
//
// Everything that a module of the kind that the gate lets through can change in
// itself is one of these, and Result.Obstacles names those that a module uses:
//
//   - memory, and its size: put back by the host and weir:restore
//   - mutable globals of its own: put back, of all types
//   - its tables: only changed by table.set, table.init, table.copy, table.grow
//     and table.fill; a module that uses one cannot be renewed
//   - passive segments: only changed by data.drop and elem.drop; likewise. The
//     active ones are gone in a new instance, too; memory.init changes nothing
//     but memory
//   - what it imports and can change: memories, tables, mutable globals;
//     likewise. The gate lets no second memory, shared memory, atomic
//     instruction, exception or tail call through
//
// What it can change outside belongs to those who offer it: files and their
// positions, variables of Extism, the memory of the Extism kernel, and the
// descriptors of WASI. Of the latter, without mounts, there are three, and with
// Options.Stdio the calls that change them go to a module that changes nothing
// (see Stdio). A guest that has left by proc_exit is closed, not renewed. What
// it drew at random before weir:save is the same in every call.
package instrument
