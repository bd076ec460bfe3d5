package daemon

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// What is not shown is named by its lines: in the stream, in the conversation that is
// opened again and beside the archived whole, always the same.
func TestGapsOfAResult(t *testing.T) {
	s := newServer(t, replay.New(replay.Call("long_text", `{}`), replay.Text("Done."), replay.Text("Done again.")))
	es := events(s.post("/api/chat", `{"message":"Make a text"}`).body)
	live := last[api.ToolCallResult](t, es, api.EventResult)
	chars := live.Shown
	for _, g := range live.Gaps {
		if g.First < 1 || g.Last < g.First || g.Lines != g.Last-g.First+1 || g.Last > live.LinesProduced {
			t.Errorf("the gap %+v of %d lines", g, live.LinesProduced)
		}
		chars += g.Chars
	}
	if len(live.Gaps) == 0 || chars != live.Produced {
		t.Fatalf("%d gaps, %d characters shown and missing of %d", len(live.Gaps), chars, live.Produced)
	}
	id := last[api.ChatStart](t, es, api.EventStart).Conversation
	var stored api.ShownResult
	for _, m := range decoded[api.ShownConversation](t, s.get("/api/conversations/"+id)).Messages {
		for _, r := range m.Results {
			stored = r
		}
	}
	if diff := cmp.Diff(live.Gaps, stored.Gaps); diff != "" || !stored.Folded {
		t.Errorf("the folded result (-live +stored):\n%s", diff)
	}
	part := decoded[api.ArchivePage](t, s.get("/api/archives/"+live.KeptUUID+"?lines=1-2")).Shown
	want := &api.ShownPart{
		Conversation: id, Turn: 1, CallID: live.ID, Chars: live.Shown, Lines: stored.LinesShown,
		Layer: live.Layer, Limit: live.Limit, Unit: live.Unit, Gaps: live.Gaps,
	}
	if diff := cmp.Diff(want, part); diff != "" {
		t.Errorf("beside the whole (-want +got):\n%s", diff)
	}
	again := decoded[api.ToolCallResult](t, s.get("/api/conversations/"+id+"/call?turn=1&call="+live.ID))
	if diff := cmp.Diff(live.Gaps, again.Gaps); diff != "" {
		t.Errorf("as the model read it (-live +again):\n%s", diff)
	}
	es = events(s.post("/api/chat", `{"conversation_id":"`+id+`","message":"And now?","load_uuids":[{"uuid":"`+live.KeptUUID+`","lines":"3-400"}]}`).body)
	load := last[api.ToolCallResult](t, es, api.EventResult)
	if folded := last[api.Folded](t, es, api.EventFolded).Results; len(folded) != 1 || folded[0].CallID != load.ID || folded[0].Turn != 2 {
		t.Errorf("folded: %+v", folded)
	}
	if again := decoded[api.ToolCallResult](t, s.get("/api/conversations/"+id+"/call?turn=2&call="+load.ID)); again.Text != load.Text || again.LoadedUUID != live.KeptUUID {
		t.Errorf("the load reads %q, and again %q", load.Text, again.Text)
	}
}

// Results that belong to no turn have their gaps too: of a call without a model, and of
// another loop's tool.
func TestGapsWithoutAModel(t *testing.T) {
	s := newServer(t, replay.New())
	called := decoded[api.ToolCallResult](t, s.post("/api/tools/long_text/call", `{"arguments":{}}`))
	kept := s.keep(`{"tool_name":"theirs","result":` + quoted(strings.Repeat("a line of some length\n", 2000)) + `}`)
	for uuid, gaps := range map[string][]api.Gap{called.KeptUUID: called.Gaps, kept.UUID: kept.Gaps} {
		page := decoded[api.ArchivePage](t, s.get("/api/archives/"+uuid+"?head=1"))
		if len(gaps) == 0 || page.Shown == nil || page.Shown.Turn != 0 || page.Shown.Layer == "" {
			t.Fatalf("%d gaps, beside the whole: %+v", len(gaps), page.Shown)
		}
		if diff := cmp.Diff(gaps, page.Shown.Gaps); diff != "" {
			t.Errorf("(-answered +stored):\n%s", diff)
		}
	}
	if kept.Unit != tool.Lines && kept.Unit != tool.Chars {
		t.Errorf("the unit %q", kept.Unit)
	}
	whole := decoded[api.ToolCallResult](t, s.post("/api/tools/long_text/call", `{"arguments":{"lines":30}}`))
	page := decoded[api.ArchivePage](t, s.get("/api/archives/"+whole.KeptUUID))
	if page.Shown == nil || page.Shown.Layer != "" || page.Shown.Gaps != nil || page.Shown.Chars != whole.Produced || page.Shown.Lines != whole.LinesProduced {
		t.Errorf("a result that was shown whole: %+v of %+v", page.Shown, whole)
	}
	rows := decoded[api.ArchiveList](t, s.get("/api/archives")).Archives
	for _, row := range rows {
		page := decoded[api.ArchivePage](t, s.get("/api/archives/"+row.UUID))
		if diff := cmp.Diff(page.Shown, row.Shown); diff != "" || row.Shown == nil {
			t.Errorf("in the list (-beside the whole +in the list):\n%s", diff)
		}
	}
	if len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}
