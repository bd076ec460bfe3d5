package chat

import (
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
)

// The part of an id that /list shows distinguishes the conversations.
func TestPrefixLength(t *testing.T) {
	for _, row := range []struct {
		ids  []string
		want int
	}{
		{nil, 8},
		{[]string{"01a20254-248d-7d8c-af49-79e83be26834", "01a20300-1e1a-734f-93cb-5d84c2375412"}, 8},                        // hours apart
		{[]string{"01a20254-248d-7d8c-af49-79e83be26834", "01a20254-1e1a-734f-93cb-5d84c2375412", "mine"}, 10},               // seconds apart
		{[]string{"01a20254-248d-7d8c-af49-79e83be26834", "01a20254-248d-7d8c-af49-79e83be26835", "a name of a caller"}, 36}, // no part differs
	} {
		var all []api.ConversationRow
		for _, id := range row.ids {
			all = append(all, api.ConversationRow{ID: id})
		}
		if got := prefixLength(all); got != row.want {
			t.Errorf("the ids %q differ in %d characters, want %d", row.ids, got, row.want)
		}
	}
}
