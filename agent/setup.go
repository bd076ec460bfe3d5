package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A setup is what one turn runs with: it is decided at the start of the turn.
type setup struct {
	info    ModelInfo
	mode    Mode
	window  int // tokens; 0: unknown
	reserve int // tokens
	limit   int // the agent's limit per result, in characters
	why     tool.Text
	locale  tool.Locale

	box       Toolbox
	kit       *prompt.Kit
	specs     []tool.Spec // the kit's
	describes bool        // describe_tool is the agent's own
	native    *prompt.Kit // what a provider's own calling is given
	finding   finding

	tools       *ToolCache
	prompt      prompt.Input
	system      string
	systemChars int
	systemRaw   float64 // uncalibrated tokens of the system prompt and native tools
	written     []prompt.ToolEntry
}

// decide returns the setup of a turn whose question follows history.
func (r *run) decide(history []Message, question string) setup {
	s := setup{box: r.l.tools, locale: r.cfg.Locale, tools: r.cfg.Tools}
	if s.locale == "" {
		s.locale = DetectLocale(question)
	}
	s.prompt = prompt.Input{Locale: s.locale, First: question}
	s.keepPrompt(history, r.cfg.Locale)
	s.info, s.mode = capabilities(r.ctx, r.answering.model, r.cfg)
	switch {
	case r.cfg.Window > 0:
		s.window = r.cfg.Window
	case r.cfg.Window == 0:
		s.window = max(0, s.info.Window)
	}
	s.reserve = r.cfg.AnswerReserve
	if s.reserve <= 0 {
		s.reserve = DefaultAnswerReserve
		if s.window > 0 {
			s.reserve = min(s.reserve, s.window/4)
		}
	}
	s.limit, s.why = limit.Agent(r.cfg.MaxToolResultLength, s.window)
	if r.cfg.EnableToolCalling && r.cfg.MaxToolCalls > 0 {
		described := s.box
		if in, ok := s.box.(Localiser); ok { // results are in the question's language, tools in the prompt's
			s.box, described = in.In(s.locale), in.In(s.prompt.Locale)
		}
		s.specs = described.Tools()
	}
	if len(r.cfg.Caller) > 0 { // which come with the question, and go with it
		s.specs, s.tools = slices.Concat(s.specs, r.cfg.Caller), new(ToolCache)
	}
	if c := r.cfg.Choice; c.Must && c.Tool != "" {
		s.specs = slices.DeleteFunc(slices.Clone(s.specs), func(t tool.Spec) bool { return t.Name != c.Tool })
	}
	s.prompt.Tools, s.prompt.Budget, s.prompt.Extra = s.specs, r.cfg.ToolsChars, r.cfg.SystemExtra
	s.prompt.Across, s.prompt.Today = r.cfg.Across, r.cfg.Now()
	if f := r.cfg.Format; f != nil {
		s.prompt.Json, s.prompt.Schema = true, f.Schema
	}
	if s.prompt.Budget == 0 {
		s.prompt.Budget = DefaultToolsChars
		if s.window > 0 {
			s.prompt.Budget = min(DefaultToolsChars, s.window/2)
		}
	}
	if f := s.finder(); f != nil {
		s.prompt.Finding = &prompt.Finding{Pinned: r.cfg.PinnedTools, Source: f.Source}
	}
	s.writeSystem()
	return s
}

// keepPrompt makes the system prompt depend on the conversation's first question.
// A later question in another language or on another subject does not change it.
func (s *setup) keepPrompt(history []Message, fixed tool.Locale) {
	for _, m := range history {
		if m.Role != RoleUser {
			continue
		}
		s.prompt.First = m.Text
		if fixed == "" {
			s.prompt.Locale = m.Locale
			if m.Locale == "" {
				s.prompt.Locale = DetectLocale(m.Text)
			}
		}
		return
	}
}

// writeSystem makes the system prompt for the present mode.
func (s *setup) writeSystem() {
	s.prompt.Native = s.mode == ModeNative
	s.kit = s.tools.kits.Of(s.prompt.Tools)
	sp := s.kit.Prompt(s.prompt)
	s.system, s.systemChars, s.systemRaw, s.written = sp.Text, sp.Chars, sp.Raw, sp.Written
	s.describes = sp.Describes && !prompt.HasTool(s.kit.Specs, prompt.DescribeTool)
	s.finding, s.native = finding{}, s.kit
	switch {
	case sp.Declared != nil:
		s.finding = finding{s.finder(), map[string]bool{}}
		for _, t := range sp.Declared {
			s.finding.told[t.Name] = true
		}
		s.native, s.describes = s.tools.kits.Of(sp.Declared), true
		s.kit = s.tools.kits.Of(slices.Concat(s.kit.Specs, prompt.SearchSpecs()))
	case s.describes:
		s.kit = s.tools.kits.Of(append(slices.Clip(s.kit.Specs), prompt.DescribeSpec()))
		s.native = s.kit
	}
	s.specs = s.kit.Specs
	if s.mode == ModeNative {
		s.systemRaw += s.nativeTools().Sum
	}
}

func (r *run) systemTokens() int { return int(r.systemRaw * r.cfg.Estimator.scale()) }

// nativeTools are the tools for a provider's own calling.
func (s *setup) nativeTools() prompt.Native { return s.native.Native(s.prompt.Locale) }

// capabilities describes the model. A model without a description is used in prompt
// mode, with an unknown window.
func capabilities(ctx context.Context, m Model, cfg Config) (ModelInfo, Mode) {
	var info ModelInfo
	if d, ok := As[Describer](m); ok {
		info, _ = d.Describe(ctx) // what is known, whatever the server said
	}
	mode := cfg.Mode
	if mode == ModeAuto {
		mode = ModePrompt
		if works := cmp.Or(info.NativeTools, cfg.NativeTools); works != nil && *works {
			mode = ModeNative
		}
	}
	return info, mode
}
