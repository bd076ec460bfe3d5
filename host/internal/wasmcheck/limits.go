package wasmcheck

// MaxFileBytes is the default for Limits.FileBytes.
const MaxFileBytes = 16 << 20

// Limits bound the contents of a module. A field that is 0 or negative means the
// value of DefaultLimits.
//
// Where nothing else is said, the default is the limit that browsers share
// ("Implementation limitations" of the WebAssembly JavaScript interface), which
// every toolchain keeps, or a stricter one where the engine pays more for an
// entry than a browser does.
type Limits struct {
	// FileBytes is the length of the file. Guests of the standard Go toolchain
	// take 2 to 9 MiB, and compiling takes some 40 times that in memory.
	FileBytes int
	// Sections is the number of custom sections.
	Sections int
	// NameBytes is the length of one name.
	NameBytes int

	// The Go linker makes a data segment of every stretch between two runs of
	// zeros: 83,077 in the largest guest of this repository.
	Types, Imports, Functions, Globals, Exports, Elements, DataSegments int
	// Params bounds the parameters of a function type, and the results as well.
	Params int
	// Tables is the number of tables; TableEntries is what all of them together
	// can come to hold, and the entries of all element segments, too. An entry
	// takes 8 bytes that no memory limit counts, and table.grow takes them at
	// run time; so a table that grows must declare how far.
	Tables, TableEntries int
	// MemoryPages is the largest size of a memory, in pages of 64 KiB.
	MemoryPages int
	// FunctionBytes is the length of one function's body.
	FunctionBytes int
	// Locals is the number of one function's locals, parameters included, and
	// TotalLocals that of all functions: engines keep a list for each.
	Locals, TotalLocals int
	// Nesting is the depth of blocks in one function, Loops how many of them may
	// be loops or ifs; BranchTable is the number of targets of one br_table. The
	// engine takes time in the square of any. Go guests nest plain blocks, one
	// for each place where a function can resume, and branch to them by one table:
	// 9,631 deep and 26,246 targets in SQLite, the most seen.
	Nesting, Loops, BranchTable int
	// Carried is the number of values that the branches, blocks and calls of one
	// function move, all together: an instruction of two bytes can name a type of
	// a thousand results. 7,625 is the most seen in an honest function.
	Carried int
}

// DefaultLimits are what plugins are held to.
func DefaultLimits() Limits {
	return Limits{
		FileBytes: MaxFileBytes, Sections: 1000, NameBytes: 4096,
		Types: 100_000, Imports: 10_000, Functions: 200_000, Globals: 50_000, Exports: 50_000, Elements: 100_000, DataSegments: 500_000,
		Params: 1000, Tables: 16, TableEntries: 1_000_000, MemoryPages: 65536,
		FunctionBytes: 7_654_321, Locals: 50_000, TotalLocals: 4_000_000,
		Nesting: 10_000, Loops: 1000, BranchTable: 40_000, Carried: 100_000,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct {
		n    *int
		most int
	}{
		{&l.FileBytes, d.FileBytes}, {&l.Sections, d.Sections}, {&l.NameBytes, d.NameBytes},
		{&l.Types, d.Types}, {&l.Imports, d.Imports}, {&l.Functions, d.Functions}, {&l.Globals, d.Globals}, {&l.Exports, d.Exports},
		{&l.Elements, d.Elements}, {&l.DataSegments, d.DataSegments}, {&l.Params, d.Params},
		{&l.Tables, d.Tables}, {&l.TableEntries, d.TableEntries}, {&l.MemoryPages, d.MemoryPages},
		{&l.FunctionBytes, d.FunctionBytes}, {&l.Locals, d.Locals}, {&l.TotalLocals, d.TotalLocals},
		{&l.Nesting, d.Nesting}, {&l.Loops, d.Loops}, {&l.BranchTable, d.BranchTable}, {&l.Carried, d.Carried},
	} {
		if *f.n <= 0 {
			*f.n = f.most
		}
	}
	return l
}
