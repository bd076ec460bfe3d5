package config

import (
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// Settings are the contents of tools.toml. The file in the repository explains every
// key. A zero value means that the key is not written; WithDefaults fills it in.
type Settings struct {
	Locale    string                    `toml:"locale" json:"locale,omitempty"`
	Server    ServerSettings            `toml:"server" json:"server"`
	Log       LogSettings               `toml:"log" json:"log"`
	Models    map[string]ModelSettings  `toml:"models" json:"models,omitempty"`
	Agent     AgentSettings             `toml:"agent" json:"agent"`
	Agents    map[string]AgentSettings  `toml:"agents" json:"agents,omitempty"`
	Users     map[string]UserSettings   `toml:"users" json:"users,omitempty"`
	Clients   map[string]ClientSettings `toml:"clients" json:"clients,omitempty"`
	Prompt    PromptSettings            `toml:"prompt" json:"prompt"`
	Limits    LimitSettings             `toml:"limits" json:"limits"`
	Tools     map[string]ToolSettings   `toml:"tools" json:"tools,omitempty"`
	Plugins   PluginSettings            `toml:"plugins" json:"plugins"`
	Grants    map[string]GrantSettings  `toml:"grants" json:"grants,omitempty"`
	Summarize SummarizeSettings         `toml:"summarize" json:"summarize"`
	Store     StoreSettings             `toml:"store" json:"store,omitzero"`
	Archive   ArchiveSettings           `toml:"archive" json:"archive"`
	Search    ToolSearchSettings        `toml:"tool_search" json:"tool_search,omitzero"`
	Sandbox   SandboxSettings           `toml:"sandbox" json:"sandbox"`
	Servers   map[string]ServerEntry    `toml:"mcpServers" json:"mcpServers,omitempty"`
	Approvals ApprovalSettings          `toml:"approvals" json:"approvals"`
	MCP       MCPSettings               `toml:"mcp" json:"mcp"`
	Telemetry TelemetrySettings         `toml:"telemetry" json:"telemetry"`
	Scripts   offer.Settings            `toml:"scripts" json:"scripts"`

	positions positions // of the keys in the file
	unset     []unset   // what was empty for want of a variable
	// the variables that each server refers to, with their values
	used map[string]map[string]string
}

// ServerSettings are the daemon's address and limits.
type ServerSettings struct {
	Addr     string   `toml:"addr" json:"addr,omitempty"`
	Hosts    []string `toml:"hosts" json:"hosts,omitempty"`
	MaxTurns int      `toml:"max_turns" json:"max_turns,omitempty"`
	Grace    Duration `toml:"resume_grace" json:"resume_grace,omitempty"`
	Drain    Duration `toml:"drain" json:"drain,omitempty"`
	// PageFolders are the folders that an approval over the API may grant to plugins.
	PageFolders []string `toml:"page_folders" json:"page_folders,omitempty"`
}

// LogSettings are the level and the format of the log.
type LogSettings struct {
	Level  string `toml:"level" json:"level,omitempty"`
	Format string `toml:"format" json:"format,omitempty"`
}

// ModelSettings are one chat model.
type ModelSettings struct {
	Provider    string         `toml:"provider" json:"provider,omitempty"`
	BaseURL     string         `toml:"base_url" json:"base_url,omitempty"`
	Key         string         `toml:"key" json:"-"`
	Model       string         `toml:"model" json:"model,omitempty"`
	Window      int            `toml:"window" json:"window,omitempty"`
	Embedding   string         `toml:"embedding_model" json:"embedding_model,omitempty"`
	NativeTools *bool          `toml:"native_tools" json:"native_tools,omitempty"`
	DropsHead   bool           `toml:"drops_head" json:"drops_head,omitempty"`
	InThought   *bool          `toml:"start_in_thought" json:"start_in_thought,omitempty"`
	First       Duration       `toml:"first_timeout" json:"first_timeout,omitempty"`
	Timeout     Duration       `toml:"timeout" json:"timeout,omitempty"`
	Extra       map[string]any `toml:"extra" json:"extra,omitempty"`
	Fallback    []string       `toml:"fallback" json:"fallback,omitempty"`
	Price       PriceSettings  `toml:"price" json:"price,omitzero"`

	keyEnv  string // the variable to which Key refers
	envFile string // the .env beside the file
	literal bool   // the file contains the key itself
}

// KeyEnv returns the name of the variable that holds the key; empty: the file holds
// the key itself, or there is none.
func (m ModelSettings) KeyEnv() string { return m.keyEnv }

// EnvFile returns the .env that may set the variable of the key; empty: unknown.
func (m ModelSettings) EnvFile() string { return m.envFile }

// PriceSettings are the prices of a million tokens of a model.
type PriceSettings struct {
	Prompt       float64 `toml:"prompt" json:"prompt,omitempty"`
	Completion   float64 `toml:"completion" json:"completion,omitempty"`
	CachedPrompt float64 `toml:"cached_prompt" json:"cached_prompt,omitempty"`
	CacheWrite   float64 `toml:"cache_write" json:"cache_write,omitempty"`
	Currency     string  `toml:"currency" json:"currency,omitempty"`
}

// AgentSettings are one profile: the model, and what its agent may do.
type AgentSettings struct {
	Model               string     `toml:"model" json:"model,omitempty"`
	Fallback            []string   `toml:"fallback" json:"fallback,omitzero"`
	Mode                string     `toml:"mode" json:"mode,omitempty"`
	Tools               []string   `toml:"tools" json:"tools,omitempty"`
	DenyTools           []string   `toml:"deny_tools" json:"deny_tools,omitempty"`
	Locale              string     `toml:"locale" json:"locale,omitempty"`
	System              string     `toml:"system" json:"system,omitempty"`
	EnablePlanning      bool       `toml:"enable_planning" json:"enable_planning,omitempty"`
	EnableToolCalling   *bool      `toml:"enable_tool_calling" json:"enable_tool_calling,omitempty"`
	EnableReflection    bool       `toml:"enable_reflection" json:"enable_reflection,omitempty"`
	EnableMemory        *bool      `toml:"enable_memory" json:"enable_memory,omitempty"`
	MaxPlanningSteps    int        `toml:"max_planning_steps" json:"max_planning_steps,omitempty"`
	MaxToolCalls        int        `toml:"max_tool_calls" json:"max_tool_calls,omitempty"`
	MemoryLimit         int        `toml:"memory_limit" json:"memory_limit,omitempty"`
	MaxToolResultLength *int       `toml:"max_tool_result_length" json:"max_tool_result_length,omitempty"`
	MaxCorrections      int        `toml:"max_corrections" json:"max_corrections,omitempty"`
	ParallelCalls       int        `toml:"parallel_calls" json:"parallel_calls,omitempty"`
	TokenBudget         int        `toml:"token_budget" json:"token_budget,omitempty"`
	TimeBudget          Duration   `toml:"time_budget" json:"time_budget,omitempty"`
	Prefetch            []Prefetch `toml:"prefetch" json:"prefetch,omitempty"`
}

// PromptSettings bound the system prompt.
type PromptSettings struct {
	ToolsChars    int      `toml:"tools_chars" json:"tools_chars,omitempty"`
	AnswerReserve int      `toml:"answer_reserve" json:"answer_reserve,omitempty"`
	PinnedTools   []string `toml:"pinned_tools" json:"pinned_tools,omitempty"`
}

// LimitSettings are the default limits of every tool, the ceiling above all limits,
// and the limit of one round of calls.
type LimitSettings struct {
	MaxChars     int        `toml:"max_chars" json:"max_chars,omitempty"`
	MaxLines     int        `toml:"max_lines" json:"max_lines,omitempty"`
	Strategy     string     `toml:"strategy" json:"strategy,omitempty"`
	Head         float64    `toml:"head" json:"head,omitempty"`
	Tail         float64    `toml:"tail" json:"tail,omitempty"`
	Timeout      Duration   `toml:"timeout" json:"timeout,omitempty"`
	Memory       tool.Bytes `toml:"memory" json:"memory,omitempty"`
	Keep         KeepLines  `toml:"keep" json:"keep,omitempty"`
	CeilingChars int        `toml:"ceiling_chars" json:"ceiling_chars,omitempty"`
	RoundChars   *int       `toml:"round_chars" json:"round_chars,omitempty"`
}

// ToolSettings override what a tool declares.
type ToolSettings struct {
	MaxChars int            `toml:"max_chars" json:"max_chars,omitempty"`
	MaxLines int            `toml:"max_lines" json:"max_lines,omitempty"`
	Strategy string         `toml:"strategy" json:"strategy,omitempty"`
	Head     float64        `toml:"head" json:"head,omitempty"`
	Tail     float64        `toml:"tail" json:"tail,omitempty"`
	Keep     KeepLines      `toml:"keep" json:"keep,omitempty"`
	Context  int            `toml:"keep_context" json:"keep_context,omitempty"`
	Archive  string         `toml:"archive" json:"archive,omitempty"`
	Timeout  Duration       `toml:"timeout" json:"timeout,omitempty"`
	Memory   tool.Bytes     `toml:"memory" json:"memory,omitempty"`
	Disabled *bool          `toml:"disabled" json:"disabled,omitempty"`
	Parallel int            `toml:"parallel" json:"parallel,omitempty"`
	Rate     *RateSettings  `toml:"rate" json:"rate,omitempty"`
	Cache    *Duration      `toml:"cache" json:"cache,omitempty"`
	Trigger  int            `toml:"trigger_threshold" json:"trigger_threshold,omitempty"`
	Config   map[string]any `toml:"config" json:"config,omitempty"`
}

// KeepLines are expressions of lines to keep, or one of the words for them.
type KeepLines []string

// UnmarshalTOML accepts "auto" and "none" as well as a list of expressions.
func (k *KeepLines) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if v == tool.KeepLinesAuto || v == tool.KeepLinesNone {
		list, ok = []any{v}, true
	}
	*k = KeepLines{}
	for _, e := range list {
		s, isText := e.(string)
		*k, ok = append(*k, s), ok && isText
	}
	if !ok {
		return msg.Errorf("keep is \"auto\", \"none\", or a list of expressions")
	}
	return nil
}

// Prefetch is a tool that runs on the question, with its other arguments.
type Prefetch struct {
	Tool string         `toml:"tool" json:"tool"`
	Args map[string]any `toml:"args" json:"args,omitempty"`
}

// UnmarshalTOML accepts "search_web" as well as { tool = "search_web", args = {…} }.
func (p *Prefetch) UnmarshalTOML(v any) error {
	table, ok := v.(map[string]any)
	if !ok {
		table = map[string]any{"tool": v}
	}
	for key, x := range table {
		switch key {
		case "tool":
			p.Tool, ok = x.(string)
		case "args":
			p.Args, ok = x.(map[string]any)
		default:
			return msg.Errorf("a prefetched tool has no key %q; it has tool and args", key)
		}
		if !ok {
			return msg.Errorf("the key %q of a prefetched tool has the wrong type", key)
		}
	}
	if p.Tool == "" {
		return msg.Errorf("a prefetched tool is a name or a table { tool = \"…\", args = {…} }")
	}
	return nil
}

// RateSettings bound how often a tool runs.
type RateSettings struct {
	PerMinute int `toml:"per_minute" json:"per_minute"`
}

// PluginSettings are the plugin folders, and how weir watches them.
type PluginSettings struct {
	Folder  []FolderSettings `toml:"folder" json:"folder,omitempty"`
	Shipped *bool            `toml:"shipped" json:"shipped,omitempty"`
	Watch   *bool            `toml:"watch" json:"watch,omitempty"`
	Poll    Duration         `toml:"poll" json:"poll,omitempty"`
}

// FolderSettings are one plugin folder.
type FolderSettings struct {
	Path  string `toml:"path" json:"path"`
	Trust string `toml:"trust" json:"trust,omitempty"`

	shipped bool
}

// GrantSettings are what one plugin is granted. Only what it asks for has an effect.
type GrantSettings struct {
	Paths   []PathGrant    `toml:"paths" json:"paths,omitempty"`
	Hosts   []HostGrant    `toml:"hosts" json:"hosts,omitempty"`
	Secrets []SecretGrant  `toml:"secrets" json:"secrets,omitempty"`
	Config  map[string]any `toml:"config" json:"config,omitempty"`
}

// PathGrant makes a folder of this machine visible to a plugin.
type PathGrant struct {
	Guest string `toml:"guest" json:"guest"`
	Host  string `toml:"host" json:"host"`
	Mode  string `toml:"mode" json:"mode,omitempty"`
}

// HostGrant lets a plugin reach one host of the network.
type HostGrant struct {
	Host    string `toml:"host" json:"host"`
	Private bool   `toml:"private" json:"private,omitempty"`
}

// UnmarshalTOML accepts "api.example.com" as well as { host = "…" }.
func (h *HostGrant) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		h.Host = v
		return nil
	case map[string]any:
		for key, x := range v {
			var ok bool
			switch key {
			case "host":
				h.Host, ok = x.(string)
			case "private":
				h.Private, ok = x.(bool)
			default:
				return msg.Errorf("a granted host has no key %q; it has host and private", key)
			}
			if !ok {
				return msg.Errorf("the key %q of a granted host has the wrong type", key)
			}
		}
		return nil
	}
	return msg.Errorf("a granted host is a name or a table { host = \"…\" }")
}

// SecretGrant lets a plugin use a secret. The manifest says where the secret goes; for
// a plugin without one, made for another host, the operator writes it here.
type SecretGrant struct {
	Name   string `toml:"name" json:"name"`
	Header string `toml:"header,omitempty" json:"header,omitempty"`
	Format string `toml:"format,omitempty" json:"format,omitempty"`
	Host   string `toml:"host,omitempty" json:"host,omitempty"`
}

// UnmarshalTOML accepts "API_KEY" as well as { name = "API_KEY", host = "…" }.
func (s *SecretGrant) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		s.Name = v
		return nil
	case map[string]any:
		keys := map[string]*string{"name": &s.Name, "header": &s.Header, "format": &s.Format, "host": &s.Host}
		for key, x := range v {
			to, known := keys[key]
			if !known {
				return msg.Errorf("a granted secret has no key %q; it has name, header, format and host", key)
			}
			text, ok := x.(string)
			if !ok {
				return msg.Errorf("the key %q of a granted secret is no text", key)
			}
			*to = text
		}
		return nil
	}
	return msg.Errorf("a granted secret is a name or a table { name = \"…\", host = \"…\" }")
}

// SummarizeSettings let a model write summaries of very long results.
type SummarizeSettings struct {
	Enabled          bool   `toml:"enabled" json:"enabled,omitempty"`
	Model            string `toml:"model" json:"model,omitempty"`
	MaxInputChars    int    `toml:"max_input_chars" json:"max_input_chars,omitempty"`
	TriggerThreshold int    `toml:"trigger_threshold" json:"trigger_threshold,omitempty"`
}

// ToolSearchSettings name the models that help to find tools.
type ToolSearchSettings struct {
	QuestionModel string `toml:"question_model" json:"question_model,omitempty"`
	Embeddings    bool   `toml:"embeddings" json:"embeddings,omitempty"`
}

// StoreSettings name the database. A nil URL is the SQLite file in the data folder.
type StoreSettings struct {
	URL *string `toml:"url" json:"url,omitempty"`
}

// ArchiveSettings are the thresholds and the retention of the archive.
type ArchiveSettings struct {
	Threshold    int        `toml:"threshold" json:"threshold,omitempty"`
	SummaryChars int        `toml:"summary_chars" json:"summary_chars,omitempty"`
	KeepTurns    int        `toml:"keep_turns" json:"keep_turns,omitempty"`
	LoadChars    int        `toml:"load_chars" json:"load_chars,omitempty"`
	Trigger      string     `toml:"trigger" json:"trigger,omitempty"`
	Semantic     float64    `toml:"semantic_threshold" json:"semantic_threshold,omitempty"`
	Scope        string     `toml:"scope" json:"scope,omitempty"`
	SummaryModel string     `toml:"summary_model" json:"summary_model,omitempty"`
	MaxAge       Duration   `toml:"max_age" json:"max_age,omitempty"`
	MaxBytes     tool.Bytes `toml:"max_bytes" json:"max_bytes,omitempty"`
	MaxCount     int        `toml:"max_count" json:"max_count,omitempty"`
	UserBytes    tool.Bytes `toml:"max_bytes_per_user" json:"max_bytes_per_user,omitempty"`
	UserCount    int        `toml:"max_count_per_user" json:"max_count_per_user,omitempty"`
}

// SandboxSettings say how plugins run.
type SandboxSettings struct {
	Engine        string     `toml:"engine" json:"engine,omitempty"`
	Isolation     string     `toml:"isolation" json:"isolation,omitempty"`
	Inline        []string   `toml:"inline" json:"inline,omitempty"`
	Renewed       int        `toml:"renewed" json:"renewed,omitempty"`
	Spares        int        `toml:"spares" json:"spares,omitempty"`
	Parallel      int        `toml:"parallel" json:"parallel,omitempty"`
	Loaded        ByteLimit  `toml:"loaded" json:"loaded,omitempty"`
	Waiting       int        `toml:"waiting" json:"waiting,omitempty"`
	Idle          Duration   `toml:"idle" json:"idle,omitempty"`
	Headroom      tool.Bytes `toml:"headroom" json:"headroom,omitempty"`
	CompileCPU    Duration   `toml:"compile_cpu" json:"compile_cpu,omitempty"`
	CompileMemory tool.Bytes `toml:"compile_memory" json:"compile_memory,omitempty"`
}

// ApprovalSettings say which calls run without a question to a person.
type ApprovalSettings struct {
	Default string                 `toml:"default" json:"default,omitempty"`
	Network string                 `toml:"network" json:"network,omitempty"`
	Timeout Duration               `toml:"timeout" json:"timeout,omitempty"`
	Rule    []ApprovalRuleSettings `toml:"rule" json:"rule,omitempty"`
}

// ApprovalRuleSettings are one rule, for some tools and arguments.
type ApprovalRuleSettings struct {
	Tool   string            `toml:"tool" json:"tool"`
	Args   map[string]string `toml:"args" json:"args,omitempty"`
	Action string            `toml:"action" json:"action"`
}

// MCPSettings are what MCP clients may use.
type MCPSettings struct {
	Tools       MCPTools `toml:"tools" json:"tools,omitzero"`
	DenyTools   []string `toml:"deny_tools" json:"deny_tools,omitempty"`
	MaxSessions int      `toml:"max_sessions" json:"max_sessions,omitempty"`
	PerUser     int      `toml:"max_user_sessions" json:"max_user_sessions,omitempty"`
	SessionIdle Duration `toml:"session_idle" json:"session_idle,omitempty"`
	// StructuredBytes bounds structured answers that are passed on whole.
	StructuredBytes tool.Bytes `toml:"structured_bytes" json:"structured_bytes,omitempty"`
}
