package wasmcheck

// Numbers of the sections, for readers of a Report.
const (
	SectionCustom byte = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
	sectionTag
)

// Kinds of imports and exports.
const (
	KindFunc byte = iota
	KindTable
	KindMemory
	KindGlobal
	kindTag
)

// PageSize is a page of linear memory, in bytes.
const PageSize = 64 << 10

// A Report is what a module that passed looks like from outside. Byte slices
// in it are parts of the file that was checked.
type Report struct {
	Sections  []Section // in the file's order
	Types     []Signature
	Functions []uint32 // the type of each function, imported ones first
	Imports   []Import
	Exports   []Export
	Memories  []Memory // imported ones first
	Globals   []Global // imported ones first
	// Custom are the custom sections by name; of equal names the first.
	Custom map[string][]byte
	// Most is the largest of everything that Limits bound, for those who set them.
	Most Limits
}

// A Section is one section's number and what it holds. Name is that of a custom
// section, which its body begins with.
type Section struct {
	ID   byte
	Name string
	Body []byte
}

// A Memory is the bounds of a linear memory, in pages. Most counts when the
// module declares a maximum, which is what Bounded says.
type Memory struct {
	Least, Most uint64
	Bounded     bool
}

// A Global is the type of a global: one of the value types below, and whether
// code may change it.
type Global struct {
	Type    byte
	Mutable bool
}

// A Signature is how many values a function takes and returns.
type Signature struct{ Params, Results int }

// An Import is a thing the host must provide. Desc is its kind and what follows.
type Import struct {
	Module, Name string
	Desc         []byte
}

// Kind is KindFunc and so on.
func (i Import) Kind() byte { return i.Desc[0] }

// An Export is a thing the module offers.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}
