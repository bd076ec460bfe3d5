// Package instrument changes a module before an engine compiles it: its instances
// can then be stopped and recycled. It converts bytes to bytes, deterministically,
// and knows no engine.
//
// # Stopping
//
// With Options.Stop the module exports the mutable global weir:stop. Its code traps
// (unreachable) within milliseconds after the host sets that global to another
// value than zero. The code pays for its work from a counter. Each time the counter
// is used up, after about a millisecond, it calls the engine's own code for a
// moment and checks weir:stop.
//
// Checking only weir:stop would be cheaper, but is not enough. Go's scheduler cannot
// interrupt machine code: the garbage collector of the host would wait for the
// guest, all other goroutines for the collector, and no goroutine would be left to
// set weir:stop.
//
// Payments are in loops; in each function, on every path that leads to a call;
// before every instruction that works on a range of memory or of a table, by its
// length; and after every 512 bytes of straight code, because half the file could be
// one line, and a deep recursion runs such a line once more for each caller when it
// returns. A host function that blocks must watch the deadline on its own.
//
// After such a trap the instance is as sound as after a return: the host clears
// weir:stop and renews it.
//
// # Renewing
//
// With Options.Renew the module exports two functions without parameters and
// results. The host calls weir:save once, in the state in which each call shall
// begin, and takes an image of the memory. After a call it restores the memory's
// bytes and calls weir:restore, which restores the memory's size and every global
// that can have changed. Always do both: a guest whose stack pointer belongs to
// another memory is broken.
//
// No instruction shrinks a memory. weir:restore runs memory.grow by one page if the
// memory is larger than at weir:save, and the host's allocator answers with the
// slice of the old size. For this the declared maximum of the module is raised by
// one page, and added code holds the module's own memory.grow to the former maximum.
// Without a declared maximum the engine's page limit must leave room for one page
// more than the guest may have. If the size is then wrong, or if nothing was saved,
// weir:restore traps, and the instance must be discarded.
//
// If Result.Portable is true, a second instance of the module can start in the
// saved state of the first one: the host copies the image into its memory, calls
// weir:save for the memory's size, sets the exported globals to the values of the
// first instance, and calls weir:restore.
//
// With Options.Used the module exports the mutable global weir:used, which becomes 1
// when one of its exported functions is called. While it is 0, its initial value,
// nothing in the instance has changed, provided that no other module can write to
// its memory, and there is nothing to restore.
//
// # What else an instance could remember
//
// A module that package wasmcheck accepts can change only the following in itself.
// Result.Obstacles names those that a module uses:
//
//   - memory, and its size: restored by the host and weir:restore
//   - its own mutable globals: restored, of all types
//   - its tables: only changed by table.set, table.init, table.copy, table.grow
//     and table.fill; a module that uses one cannot be renewed
//   - passive segments: only changed by data.drop and elem.drop; such a module
//     cannot be renewed either. Active segments are gone in a new instance, too;
//     memory.init changes only memory
//   - mutable imports: memories, tables, globals; such a module cannot be renewed
//     either. wasmcheck refuses a second memory, shared memory, atomic instructions,
//     exceptions and tail calls
//
// State outside belongs to the package that offers it: files and their positions,
// Extism variables, the memory of the Extism kernel, and the WASI descriptors. There
// are three of the latter without mounts, and with Options.Stdio the calls that
// change them go to a module that changes nothing (see Stdio). A guest that ended by
// proc_exit is closed, not renewed. Random numbers that it drew before weir:save are
// the same in every call.
//
// # Files
//
//   - instrument: the changes
//   - survey, placement, loops: where checks go
//   - code, edit, encoder, format: writes the module
//   - stdio: its standard streams
package instrument
