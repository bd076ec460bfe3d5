package turns

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// outlasts reports whether an archived result will still be in the archive when
// the turn has ended: its notice or that of an identical result names it, it will fold,
// or its tool keeps every result. The end of the turn deletes every other result, so the
// client must not receive its uuid.
func (t *turn) outlasts(r tool.Result) bool {
	if r.Ref == nil || r.Ref.Again || r.Repeat || r.Ephemeral || r.Shown.Cut() || r.Shown.Summarized || r.Load != nil || t.s.Scripts.Has(r.Tool) {
		return r.Ref != nil
	}
	threshold := t.prof.Agent.ArchiveThreshold
	if threshold == 0 {
		threshold = agent.DefaultArchiveThreshold
	}
	if threshold > 0 && r.Shown.TotalChars > threshold {
		return true
	}
	info, ok := t.s.Host.Tool(r.Tool)
	return ok && info.Effective.Archive == tool.ArchiveAlways
}

// unrefer removes the archive reference of every entry that its message contains in
// full, unless the client has received the uuid or a text of the turn contains it. It
// returns the uuids without a reference.
func (t *turn) unrefer(ms []agent.Message) (unnamed []string) {
	for i := range ms {
		for j := range ms[i].Results {
			e := &ms[i].Results[j]
			if e.Ref == nil || e.Folded || e.Ephemeral || t.told[e.Ref.UUID] || named(ms, e.Ref.UUID) {
				continue
			}
			id := e.Ref.UUID
			use := slices.IndexFunc(t.calls.Rows, func(u store.Call) bool { return u.UUID == id })
			if use < 0 {
				continue // of an earlier turn
			}
			unnamed = append(unnamed, id)
			e.Ref, t.calls.Rows[use].UUID = nil, ""
			t.end.KeptChars -= e.Chars
		}
	}
	return unnamed
}

// named reports whether any text of the messages holds the id. The model reads
// ids of its own turn when it searches the history.
func named(ms []agent.Message, id string) bool {
	return slices.ContainsFunc(ms, func(m agent.Message) bool {
		return strings.Contains(m.Text, id) ||
			slices.ContainsFunc(m.Calls, func(c tool.Call) bool { return strings.Contains(string(c.Args), id) }) ||
			slices.ContainsFunc(m.Results, func(e agent.ResultEntry) bool {
				return strings.Contains(e.Text, id) || e.Ephemeral && e.Ref != nil && e.Ref.UUID == id
			})
	})
}
