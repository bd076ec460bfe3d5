package host

import (
	"bytes"
	"cmp"
	"context"
	"strings"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// archiveOver is the length, in characters, over which a result is archived even if
// all of it is shown.
const archiveOver = 1000

// record returns an answer as a result. The whole is in the archive before anything
// of it is shown cut, and this is the only cut in the host.
func (s *Session) record(ctx context.Context, t *snapshot.Tool, c tool.Call, a answer.Answer) tool.Result {
	r := tool.Result{Tool: t.Info.Spec.Name, Sources: a.Sources, Parts: a.Parts, More: a.More, Entries: entriesFor(t, c, a), Err: a.Err, Refused: a.Refused, Note: a.Note, Structured: a.Structured, Blocks: a.Blocks, Meta: a.Meta, Incomplete: a.Cut}.WithWhole(a.Text)
	s.h.largeText.Do(len(a.Text), func() {
		r.Shown = t.Fit(r, c.MaxChars)
		if shouldArchive(t, r) || s.keepAll && r.Whole() != "" && t.Info.Effective.Archive != tool.ArchiveNever {
			r = s.archive(ctx, t, c, a, r)
		}
	})
	return r
}

// entriesFor returns the entries of an answer for the caller. How many of them are shown
// is a limit of the tool's own, which the number of an agent replaces where the tool is
// open-ended: more room then shows more of them.
func entriesFor(t *snapshot.Tool, c tool.Call, a answer.Answer) *tool.Entries {
	if a.Entries == nil || c.MaxChars <= 0 || !t.Info.Effective.OpenEnded {
		return a.Entries
	}
	return &tool.Entries{Lines: a.Entries.Lines}
}

// shouldArchive reports whether the whole is to be archived: if it is long, if a part
// of it is not shown, or if the tool says always; never if the tool says never.
func shouldArchive(t *snapshot.Tool, r tool.Result) bool {
	switch t.Info.Effective.Archive {
	case tool.ArchiveNever:
		return false
	case tool.ArchiveAlways:
		return r.Whole() != "" || len(r.Parts) > 0
	}
	return r.Shown.TotalChars > archiveOver || r.Shown.Cut() || len(r.Parts) > 0
}

// archive commits the whole and returns r with its reference. It does so even if the
// caller has gone: the tool has run, and the next question may ask for the result.
// If it fails the result says that the rest is lost.
func (s *Session) archive(ctx context.Context, t *snapshot.Tool, c tool.Call, a answer.Answer, r tool.Result) tool.Result {
	input := bytes.TrimSpace(c.Args)
	if len(input) == 0 {
		input = []byte("{}")
	}
	e, again, err := s.h.archive.PutOnce(context.WithoutCancel(ctx), archive.Entry{
		Scope: s.scope(), Thread: s.thread, Turn: c.Turn, CallID: c.ID, Tool: t.Info.Spec.Name, Input: input,
		Query: describe.Query(t.Info.Spec.Name, input), Full: a.Text, Raw: a.Raw, Rules: limit.RulesVersion,
		Sources: a.Sources, Parts: a.Parts, Later: s.across,
	})
	if err != nil {
		r.Unkept = true
		s.h.log.Error("a result could not be archived", "tool", t.Info.Spec.Name, "conversation", s.conversation, "error", err)
		return r
	}
	r.Ref = e.Ref()
	if !again {
		s.h.meaning.Added(e, s.locale)
	} else if !s.across { // another client of the user's may have read the earlier result
		r.Ref.Again = true
		r.Shown = t.Fit(r, c.MaxChars) // the notice of a repetition needs room
	}
	return r
}

// summarise returns r with a model's summary of a long result in place of the cut,
// where the tool's strategy is to summarise. If that fails the cut stays.
func (s *Session) summarise(ctx context.Context, t *snapshot.Tool, c tool.Call, r tool.Result) tool.Result {
	l, by := t.Within(c.MaxChars)
	set := s.h.settings.Load()
	own, _ := set.of(s.h.Names(t.Info.Spec.Name))
	if l.Strategy != tool.Summarize || set.Summarise == nil || !r.Shown.Cut() || r.Shown.TotalChars <= cmp.Or(own.SummariseOver, set.SummariseOver) || r.Err != nil {
		return r
	}
	began := s.h.cfg.Now()
	sum, err := set.Summarise(ctx, SummaryRequest{
		Principal: s.principal, Conversation: s.conversation,
		Tool: t.Info.Spec.Name, Query: describe.Query(t.Info.Spec.Name, c.Args), Text: r.Whole(),
		Chars: max(l.MaxChars-tool.NoticeChars, tool.MinMaxChars), Locale: s.locale,
	})
	r.Summary = &tool.SummaryCost{Model: sum.Model, TokensIn: sum.TokensIn, TokensOut: sum.TokensOut, Estimated: sum.Estimated,
		Millis: s.h.cfg.Now().Sub(began).Milliseconds()}
	summary := limit.Normalise([]byte(sum.Text))
	if err != nil || strings.TrimSpace(summary) == "" {
		s.h.log.Warn("a result could not be summarised and is cut instead", "tool", t.Info.Spec.Name, "error", err)
		return r
	}
	r.Shown = limit.Summary(summary, r.Whole(), l, by)
	return r
}

// log writes the one log line of a call.
func (s *Session) log(r tool.Result) {
	if !s.h.log.IsInfo() {
		return
	}
	code := "ok"
	if r.Err != nil {
		code = string(r.Err.Code)
	}
	shown, _ := limit.Count(r.Shown.Text)
	percent := 0 // of the whole, left out
	if total := r.Shown.TotalChars; total > 0 {
		percent = 100 * max(total-shown, 0) / total
	}
	args := []any{
		"tool", text.OneLine(r.Tool, 80), "id", r.CallID, "code", code, "layer", string(r.Shown.By), "from", r.Shown.TotalChars, "to", shown, "percent", percent,
		"conversation", s.conversation, "took", r.Stats.Duration, "cached", r.Stats.Cached,
	}
	if r.Ref != nil {
		args = append(args, "archived", r.Ref.UUID)
	}
	if c := r.Summary; c != nil {
		args = append(args, "summarized", r.Shown.Summarized, "summary_model", c.Model, "summary_tokens_in", c.TokensIn, "summary_tokens_out", c.TokensOut, "summary_ms", c.Millis)
	}
	if len(r.Refused) > 0 {
		args = append(args, "refused", r.Refused)
	}
	if r.Unkept {
		args = append(args, "unkept", true)
	}
	if r.Incomplete {
		args = append(args, "incomplete", true)
	}
	if r.Err != nil {
		args = append(args, "error", r.Err.Msg)
	}
	s.h.log.Info("call", args...)
}
