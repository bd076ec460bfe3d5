package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Defaults that hold when neither the tool nor the operator says anything.
// They are the numbers of the documents the project grew from.
const (
	DefaultMaxChars = 8000  // characters shown of one result
	DefaultMaxLines = 500   // lines shown of one result
	DefaultCeiling  = 32768 // characters; nothing but a load passes it
	DefaultShare    = 0.4   // head and tail, each a share of the budget
	MinMaxChars     = 300   // a smaller declared limit is refused: the notice alone takes 240
	NoticeChars     = 240   // characters reserved for the notice inside the budget
	MaxWhole        = 8 << 20
)

// Strategy says which part of a result that is too long is shown.
type Strategy string

// The strategies a manifest may declare. The empty one means HeadTail.
const (
	HeadTail  Strategy = "head_tail"
	HeadOnly  Strategy = "head_only"
	TailOnly  Strategy = "tail_only"
	JSON      Strategy = "json"      // stays valid JSON; arrays and strings elided with counts
	Summarize Strategy = "summarize" // by a model, when the operator enables it; otherwise HeadTail
)

// Valid reports whether s is a known strategy or empty.
func (s Strategy) Valid() bool {
	switch s {
	case "", HeadTail, HeadOnly, TailOnly, JSON, Summarize:
		return true
	}
	return false
}

// ArchiveMode says whether a result is committed to the archive.
type ArchiveMode string

// ArchiveAuto archives results over 1,000 characters, ArchiveAlways every result,
// ArchiveNever none. The empty one means ArchiveAuto.
const (
	ArchiveAuto   ArchiveMode = "auto"
	ArchiveAlways ArchiveMode = "always"
	ArchiveNever  ArchiveMode = "never"
)

// Words in Limits.Keep that are not expressions.
const (
	KeepLinesAuto = "auto" // the patterns of weir for the kind of text
	KeepLinesNone = "none" // no lines
)

// Layer names the limit that decided a cut, so that a notice can name it.
type Layer string

// The layers of limits, from the tool outwards. LayerNone: nothing cut.
const (
	LayerNone     Layer = ""
	LayerTool     Layer = "tool"     // the manifest's [tool.output]
	LayerDefault  Layer = "default"  // [limits] of the host, for tools that declare nothing
	LayerOperator Layer = "operator" // [tools.<name>] of the host's configuration
	LayerCeiling  Layer = "ceiling"  // [limits] ceiling_chars
	LayerAgent    Layer = "agent"    // max_tool_result_length
	LayerRound    Layer = "round"    // the share of one round's results
	LayerLoad     Layer = "load"     // the room left for a loaded archive
)

// Bytes is an amount of memory or storage, in bytes. It reads "64MiB",
// "64MB", "64M" or a plain number; zero means not stated.
type Bytes int64

// UnmarshalText reads the forms that Bytes documents.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	num := strings.TrimRightFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	unit, ok := byteUnits[strings.ToLower(strings.TrimSpace(s[len(num):]))]
	n, err := strconv.ParseFloat(num, 64)
	if err != nil || !ok || n < 0 || n*unit >= 1<<62 {
		return fmt.Errorf("%q is not an amount of bytes; write for example \"64MiB\"", s)
	}
	*b = Bytes(n * unit)
	return nil
}

// String prints the largest binary unit that divides b, as UnmarshalText reads it.
func (b Bytes) String() string {
	for _, u := range []struct {
		name string
		size Bytes
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b != 0 && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText writes what String prints.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

var byteUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1 << 10, "kib": 1 << 10, "kb": 1e3,
	"m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
	"g": 1 << 30, "gib": 1 << 30, "gb": 1e9,
}

// Limits bound one call and what is shown of its result. A zero field means
// "not stated by this layer"; Or fills it from the layer below.
type Limits struct {
	// MaxChars is how many characters may be shown, notice included.
	MaxChars int `json:"max_chars,omitempty"`
	// OpenEnded says that more text serves the model better: MaxChars holds where no
	// agent calls, and an agent's limit replaces it, up to the ceiling.
	OpenEnded bool `json:"open_ended,omitempty"`
	// MaxLines is how many lines may be shown, the notice's lines included.
	MaxLines int      `json:"max_lines,omitempty"`
	Strategy Strategy `json:"strategy,omitempty"`
	// Head and Tail are shares of the budget, 0 to 1, of lines too. The tail gets
	// what both leave over. Both zero: 0.4 each. Where Keep lines are shown, head
	// and tail share in this proportion what those leave over.
	Head float64 `json:"head,omitempty"`
	Tail float64 `json:"tail,omitempty"`
	// Keep holds RE2 expressions; lines that match one are shown first. "auto"
	// means the patterns of weir, "none" alone no expression. Nil means
	// "auto" unless Strategy is HeadOnly or JSON.
	Keep []string `json:"keep,omitempty"`
	// KeepContext is how many lines before and after each Keep line are shown.
	KeepContext int         `json:"keep_context,omitempty"`
	Archive     ArchiveMode `json:"archive,omitempty"`
	// Timeout is the deadline of one call.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Memory caps each linear memory of the guest.
	Memory Bytes `json:"memory,omitempty"`
}

// Or returns l with every field that l leaves unstated taken from below.
func (l Limits) Or(below Limits) Limits {
	if l.MaxChars == 0 {
		l.MaxChars, l.OpenEnded = below.MaxChars, below.OpenEnded
	}
	if l.MaxLines == 0 {
		l.MaxLines = below.MaxLines
	}
	if l.Strategy == "" {
		l.Strategy = below.Strategy
	}
	if l.Head == 0 && l.Tail == 0 {
		l.Head, l.Tail = below.Head, below.Tail
	}
	if l.Keep == nil {
		l.Keep = below.Keep
	}
	if l.KeepContext == 0 {
		l.KeepContext = below.KeepContext
	}
	if l.Archive == "" {
		l.Archive = below.Archive
	}
	if l.Timeout == 0 {
		l.Timeout = below.Timeout
	}
	if l.Memory == 0 {
		l.Memory = below.Memory
	}
	return l
}
