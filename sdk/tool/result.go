package tool

import (
	"encoding/json"
	"time"
)

// A Call is one request to run a tool. Only the model's own current output or
// the operator's configuration makes one.
type Call struct {
	ID   string          `json:"id"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"` // a JSON object; empty means {}
	Turn int             `json:"turn,omitempty"`
	// MaxChars is the limit of the agent that calls, in characters of the result. 0:
	// no agent calls, or it sets none.
	MaxChars int `json:"-"`
}

// A Result is what one Call came to. Its whole text is committed to the
// archive before Shown is cut from it; every stage cuts from the whole again,
// never from what was shown before.
type Result struct {
	CallID  string   `json:"call_id"`
	Tool    string   `json:"tool"`
	Shown   View     `json:"shown"`
	Sources []Source `json:"sources,omitempty"`
	Parts   []Blob   `json:"parts,omitempty"`
	// Structured is the tool's answer as a JSON value, for programs, whole; nil: none.
	Structured json.RawMessage `json:"-"`
	// Blocks are the parts of the answer as its server wrote them, for programs; nil: the
	// answer is one text and nothing else. The text of the result is that of all of them.
	Blocks []Block `json:"-"`
	// Meta is what the server says of the answer to programs, a JSON object; nil: nothing.
	Meta json.RawMessage `json:"-"`
	// More is the tool's own claim that it stopped early; nil: it did not.
	More *More `json:"more,omitempty"`
	// Entries says where the entries of the whole begin; nil: it has none.
	Entries *Entries `json:"-"`
	// Ref names the archived whole; nil: it was not archived.
	Ref *Ref `json:"ref,omitempty"`
	// Load is set on results of load_tool_history only.
	Load *Load `json:"load,omitempty"`
	// Repeat reports that the same result was shown earlier in this turn: one line
	// refers to it, and Shown is empty.
	Repeat bool `json:"repeat,omitempty"`
	// Ephemeral results are shown for their turn and never archived again.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Refused are hosts that the tool requested and may not reach, such as
	// "https://api.example.com", at most 16. Note is the host's own sentence about
	// the call, for the model, in the language of its session; empty: none.
	Refused []string `json:"refused,omitempty"`
	Note    string   `json:"note,omitempty"`
	// Unkept says that the whole should have been archived and could not be:
	// what is not shown is gone.
	Unkept bool `json:"unkept,omitempty"`
	// Incomplete says that the tool produced more than MaxWhole bytes: the whole is
	// their beginning, and the rest is gone.
	Incomplete bool `json:"incomplete,omitempty"`
	// Err is the tool's failure, as data for the model; nil: it succeeded.
	Err   *Error `json:"error,omitempty"`
	Stats Stats  `json:"stats"`
	// Summary is what asking a model for a summary cost, whether it came to one
	// (View.Summarized) or not; nil: none was asked.
	Summary *SummaryCost `json:"summary,omitempty"`
	// Approval says who let the call run or kept it from running; nil: there was
	// nothing to decide.
	Approval *Approval `json:"approval,omitempty"`
	// Inner are the calls that a script made, in the order in which it made them; nil:
	// none, or the tool is no script.
	Inner []Inner `json:"inner,omitempty"`

	whole string
}

// An Inner is a call that a script made.
type Inner struct {
	Tool  string        `json:"tool"`
	UUID  string        `json:"uuid,omitempty"` // of the archived whole; empty: there is none
	Chars int           `json:"chars"`          // of the whole
	Took  time.Duration `json:"took"`           // in nanoseconds
	Fault Code          `json:"fault,omitempty"`
}

// Whole returns the complete normalised text, or what is shown after Release.
func (r Result) Whole() string {
	if r.whole == "" {
		return r.Shown.Text
	}
	return r.whole
}

// WithWhole returns r holding whole as its complete normalised text.
func (r Result) WithWhole(whole string) Result {
	r.whole = whole
	return r
}

// Release drops the whole text from memory, which stays in the archive, Entries, Blocks,
// Meta and Structured.
func (r *Result) Release() {
	r.whole, r.Entries, r.Structured, r.Blocks, r.Meta = "", nil, nil, nil, nil
}

// A Block is a part of an answer: a text, a link to a resource, a resource, a picture.
type Block struct {
	// Form is the JSON of the part in the Model Context Protocol, without its text and its
	// data; nil: it is a plain text, or a Blob of which the tool says nothing more.
	Form json.RawMessage
	Text string // normalised
	Part int    // the place of its Blob in Parts, from 1; 0: it has none
}

// A View is the part of a result that is shown. The notice about what is left
// out is not part of Text: it is rendered once, at the edge, inside the budget.
type View struct {
	Text string `json:"text"`
	// Gaps says what is missing and where, in order; empty: nothing is left out.
	Gaps []Gap `json:"gaps,omitempty"`
	// TotalChars and TotalLines count the whole.
	TotalChars int `json:"total_chars"`
	TotalLines int `json:"total_lines"`
	// By is the layer whose limit decided; Limit is its number, of Unit.
	By    Layer `json:"by,omitempty"`
	Limit int   `json:"limit,omitempty"`
	Unit  Unit  `json:"unit,omitempty"`
	// Summarized says that Text was written by a model, not cut from the whole.
	Summarized bool `json:"summarized,omitempty"`
	// Room is how many characters the cut reserved for what the renderer adds:
	// the notice with its separators, the tool's claim; 0: NoticeChars.
	Room int `json:"room,omitempty"`
	// Kept are the lines between the ends that are shown for an expression of
	// Limits.Keep, in order.
	Kept []Kept `json:"kept,omitempty"`
	// Terse says that there is no room for the numbers of the lines that are
	// missing at each gap after the first.
	Terse bool `json:"terse,omitempty"`
	// LeftOut is how many lines that such expressions match are not shown, without
	// those identical to a shown one; Grep is an expression that finds them.
	LeftOut int    `json:"left_out,omitempty"`
	Grep    string `json:"grep,omitempty"`
	// TotalEntries is how many entries the whole has; 0: it has none, or they are not
	// known. ShownEntries of them are shown, each from its beginning to its end.
	TotalEntries int `json:"total_entries,omitempty"`
	ShownEntries int `json:"shown_entries,omitempty"`
}

// A Kept is a line that is shown because an expression matches it.
type Kept struct {
	// At and End are byte offsets in View.Text: of the line, without its newline.
	At  int `json:"at"`
	End int `json:"end"`
	// Line is its number in the whole, from 1.
	Line int `json:"line"`
	// By is the expression, or the name of one of weir's own patterns.
	By string `json:"by"`
	// Times is how many lines of the whole are identical, this one included.
	Times int `json:"times"`
}

// Unit is what a limit counts.
type Unit string

// The units a limit can have decided by.
const (
	Chars     Unit = "characters"
	Lines     Unit = "lines"
	EntryUnit Unit = "entries"
)

// Cut reports whether anything of the whole is not shown.
func (v View) Cut() bool { return len(v.Gaps) > 0 || v.Summarized }

// Missing sums characters and lines over all gaps.
func (v View) Missing() (chars, lines int) {
	for _, g := range v.Gaps {
		chars += g.Chars
		lines += g.Lines
	}
	return chars, lines
}

// A Gap is a run of the whole that is not shown.
type Gap struct {
	// At is the byte offset in View.Text in front of which the gap lies.
	At int `json:"at"`
	// Chars and Lines are how much is missing; a line cut in part counts.
	Chars int `json:"chars"`
	Lines int `json:"lines"`
	// First and Last are the missing lines of the whole, counted from 1.
	First int `json:"first"`
	Last  int `json:"last"`
}

// A Ref names an archived whole and says enough about it to decide on a load.
type Ref struct {
	UUID      string    `json:"uuid"`
	Query     string    `json:"query"`   // at most 500 characters
	Summary   string    `json:"summary"` // about 200 characters
	CreatedAt time.Time `json:"created_at"`
	Chars     int       `json:"chars"`
	Lines     int       `json:"lines"`
	Sources   []Source  `json:"sources,omitempty"`
	// Parts are the pictures and other files of the whole, in their order.
	Parts []Part `json:"parts,omitempty"`
	// Again says that this is the archived whole of an earlier, identical call
	// with an identical result; UUID and CreatedAt are the earlier one's.
	Again bool `json:"again,omitempty"`
}

// A Load says which part of an archived whole a result holds.
type Load struct {
	UUID string `json:"uuid"`
	// Args are the selectors of the call without offset (lines, grep, …); the
	// call that continues is Args plus the next offset.
	Args json.RawMessage `json:"args,omitempty"`
	// Offset is where the result's text begins, in characters of the selected part.
	Offset int `json:"offset"`
	// Chars is the length of the selected part, in characters.
	Chars int `json:"chars"`
	// KeepTurns is how many turns the load is to stay, its own included; 0: the
	// agent decides.
	KeepTurns int `json:"keep_turns,omitempty"`
}

// A Source is where a result's content comes from.
type Source struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"` // a URL or a file path
}

// A Blob is a part of a result that is not text. The model reads a one-line
// descriptor of it.
type Blob struct {
	Name string `json:"name,omitempty"`
	MIME string `json:"mime"`
	Data []byte `json:"data,omitempty"`
}

// A Part describes a Blob of an archived whole.
type Part struct {
	Name  string `json:"name,omitempty"`
	MIME  string `json:"mime"` // as the tool named it
	Bytes int    `json:"bytes"`
}

// More is a tool's own claim that there is more where its text came from.
type More struct {
	Shown int `json:"shown"` // items in the text
	Total int `json:"total"` // items there are; 0: unknown
	// Args are the arguments to change in the call that continues.
	Args json.RawMessage `json:"args,omitempty"`
}

// MaxEntries is how many entries a host reads of one result. It ignores the entries of a
// result that has more.
const MaxEntries = 100_000

// Entries say where the entries of a text begin: its hits, rows, matches or files. A cut
// then falls between two of them, and the notice counts them.
type Entries struct {
	// Lines are the lines at which the entries begin, counted from 1 and ascending. An
	// entry ends where the next one begins, the last with the text. What comes before
	// the first belongs to none.
	Lines []int `json:"lines"`
	// Show is how many of the entries a model reads, from the first, where no agent's
	// limit replaces the tool's; 0: as many as fit.
	Show int `json:"show,omitempty"`
}

// SummaryCost is what one summary by a model took.
type SummaryCost struct {
	Model     string `json:"model"`
	TokensIn  int    `json:"tokens_in"`
	TokensOut int    `json:"tokens_out"`
	// Estimated says that the provider did not count and the tokens are ours.
	Estimated bool  `json:"estimated,omitempty"`
	Millis    int64 `json:"milliseconds"`
}

// An Approval is the decision about a call that could do more than answer.
type Approval struct {
	Allowed bool `json:"allowed"`
	// By names who decided: "rule 1" and so on, "default" or "network" for the
	// operator's settings; "person" with a name; "always" for an earlier answer; or
	// why there was no answer: "nobody", "timeout", "gone".
	By string `json:"by"`
	// Always says that the person's answer covers later calls of the conversation too.
	Always bool `json:"always,omitempty"`
	// Some says that the person allowed some of a script's calls and denied the others.
	Some   bool          `json:"some,omitempty"`
	Waited time.Duration `json:"waited_ns,omitempty"` // for a person
}

// Stats are what one call cost.
type Stats struct {
	Duration time.Duration `json:"duration_ns"`         // from request to text, host work included, a person's time not
	Instance time.Duration `json:"instance_ns"`         // making the fresh instance
	Memory   Bytes         `json:"memory,omitempty"`    // the guest's linear memory at its end
	Cached   bool          `json:"cached,omitempty"`    // answered from the cache
	RawBytes int           `json:"raw_bytes,omitempty"` // bytes before normalising
}
