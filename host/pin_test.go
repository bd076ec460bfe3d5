package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

func TestLoadIsAskedToStay(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	id := call(t, s, "bare", `{"Lines":100,"Width":50}`).Ref.UUID
	for _, row := range []struct {
		args string
		keep int // -1: refused
		why  string
	}{
		{`,"keep_turns":3`, 3, "as given"},
		{`,"keep_turns":"10"`, 10, "models write numbers as strings; 10 is the most"},
		{`,"Keep_Turns":2,"lines":"5-6"`, 2, "beside a part"},
		{``, 0, "absent: the agent decides"},
		{`,"keep_turns":null`, 0, "null is absent"},
		{`,"keep_turns":0`, -1, "a load stays its own turn at least"},
		{`,"keep_turns":11`, -1, "over the most"},
		{`,"keep_turns":-1`, -1, "negative"},
		{`,"keep_turns":1.5`, -1, "not a whole number"},
		{`,"keep_turns":[3]`, -1, "not a number"},
		{`,"keep_turns":"for ever"`, -1, "words"},
	} {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			r := try(t, h.Session("me", "c1").In(l), tool.LoadHistory, fmt.Sprintf(`{"uuid":%q%s}`, id, row.args))
			if row.keep < 0 {
				if r.Err == nil || r.Err.Code != tool.BadArgs || !strings.Contains(r.Err.Msg, "keep_turns") || hasChinese(r.Err.Msg) != (l == tool.Zh) {
					t.Errorf("%s: %v", row.why, r.Err)
				}
				continue
			}
			if r.Err != nil || r.Load.KeepTurns != row.keep {
				t.Errorf("%s: %v, %+v", row.why, r.Err, r.Load)
			}
		}
	}
}
