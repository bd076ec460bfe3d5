package tool

import "encoding/json"

// A Spec is what a model needs to know to call a tool, with the limits that
// are in force for it. It is immutable once published.
type Spec struct {
	// Name is unique over all plugins and satisfies ValidName.
	Name string `json:"name"`
	// Written is the name that another server gave the tool, from which Name was made;
	// empty: Name itself. A search takes its words from it.
	Written string `json:"-"`
	// Description is at most 1 KiB, that of a third party at most 32 KiB; DescriptionZh is
	// the same in Chinese, or empty.
	Description   string `json:"description"`
	DescriptionZh string `json:"description_zh,omitempty"`
	// Params is a JSON Schema of type object. Its properties keep the order of
	// the manifest: positional arguments use it.
	Params json.RawMessage `json:"parameters"`
	// ParamsZh is Params with the descriptions in Chinese, in the same order; nil: the
	// tool has none.
	ParamsZh json.RawMessage `json:"parameters_zh,omitempty"`
	// OutputSchema is the JSON Schema of type object of the tool's structured answers,
	// as another server declares it; nil: none. Nothing checks an answer against it.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Output holds the effective limits when the Spec comes from a host.
	Output   Limits    `json:"output"`
	Hints    Hints     `json:"hints"`
	Examples []Example `json:"examples,omitempty"`
	// Script says that the tool is a script: other scripts do not call it.
	Script bool `json:"-"`
	// Remote is what the tool's server says of it besides; nil: the tool is none of another
	// MCP server.
	Remote *Remote `json:"remote,omitempty"`
}

// A Remote is what another MCP server says of its tool for programs and people. All of it
// is untrusted, bounded and without invisible characters.
type Remote struct {
	Server string `json:"server"`          // as the operator named it
	Title  string `json:"title,omitempty"` // for people; empty: none
	// Annotations, Meta, Execution and Icons have the form of the protocol; nil: the server
	// says nothing. Annotations has only a title unless the operator trusts the server's
	// hints, which Trusted says.
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"meta,omitempty"`
	Execution   json.RawMessage `json:"execution,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"`
	Trusted     bool            `json:"trusted,omitempty"`
	// Instructions are the server's own, for all of its tools; empty: none.
	Instructions string `json:"-"`
}

// Name returns the name of the tool for people; empty: the server gives none. r may be nil.
func (r *Remote) Name() string {
	switch {
	case r == nil:
		return ""
	case r.Title != "":
		return r.Title
	}
	var said struct{ Title string }
	_ = json.Unmarshal(r.Annotations, &said) // what is no object has no title
	return said.Title
}

// Named returns the name of the tool that is meant by name: the tool of that name, or else the
// one that its server calls so. If several servers do, found is empty and several has the
// names of their tools; if there is none, both are empty.
func Named(name string, specs []Spec) (found string, several []string) {
	for _, s := range specs {
		if s.Name == name {
			return name, nil
		}
		if s.Written == name && name != "" {
			several = append(several, s.Name)
		}
	}
	if len(several) == 1 {
		return several[0], nil
	}
	return "", several
}

// Describe returns the description in the wanted language, falling back to English.
func (s Spec) Describe(l Locale) string {
	if l == Zh && s.DescriptionZh != "" {
		return s.DescriptionZh
	}
	return s.Description
}

// Parameters returns the schema of the arguments with its descriptions in the wanted
// language, falling back to English.
func (s Spec) Parameters(l Locale) json.RawMessage {
	if l == Zh && len(s.ParamsZh) > 0 {
		return s.ParamsZh
	}
	return s.Params
}

// Hints are what a tool claims about itself; they grant nothing.
type Hints struct {
	ReadOnly   bool `json:"read_only,omitempty"`  // changes nothing outside the call
	Idempotent bool `json:"idempotent,omitempty"` // may be repeated after a transient failure
	Network    bool `json:"network,omitempty"`    // leaves this machine
}

// An Example shows a model one question and the arguments that answer it.
type Example struct {
	Ask   string          `json:"ask"`
	AskZh string          `json:"ask_zh,omitempty"`
	Args  json.RawMessage `json:"args"`
	// ArgsZh are the arguments of the call that answers AskZh; nil: Args.
	ArgsZh json.RawMessage `json:"args_zh,omitempty"`
}

// In returns the question and the arguments of the call that answers it, in language l.
func (e Example) In(l Locale) (ask string, args json.RawMessage) {
	if l != Zh || e.AskZh == "" {
		return e.Ask, e.Args
	}
	if e.ArgsZh != nil {
		return e.AskZh, e.ArgsZh
	}
	return e.AskZh, e.Args
}

// ValidName reports whether s can name a tool or plugin: a lower-case letter,
// then at most 63 lower-case letters, digits and underscores. A name of a
// foreign plugin or server contains "__" between its two parts. It is written
// out because a regular expression would cost every Go guest 0.4 MB.
func ValidName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// Locale is the language of what a model or a person reads.
type Locale string

// The two languages everything exists in. The empty Locale reads as English.
const (
	En Locale = "en"
	Zh Locale = "zh"
)

// Names of the tools that weir provides itself; no plugin can use them. The host
// answers LoadHistory and SearchHistory, the daemon RunScript; the agent and the MCP server
// answer the others.
const (
	RunScript     = "run_script"
	LoadHistory   = "load_tool_history"
	SearchHistory = "search_tool_history"
	DescribeTool  = "describe_tool"
	FindTools     = "find_tools"
	CallTool      = "call_tool"
)

// IsBuiltIn reports whether name is one of weir's own tools.
func IsBuiltIn(name string) bool {
	switch name {
	case RunScript, LoadHistory, SearchHistory, DescribeTool, FindTools, CallTool:
		return true
	}
	return false
}
