package chatform

import (
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// Notes are what could not be handed on as it was sent: each sentence once, and the names of
// what was left out in one of them. The zero value is empty.
type Notes struct {
	list []tool.Text
	left []string
}

// Add notes a change.
func (n *Notes) Add(t tool.Text) {
	for _, old := range n.list {
		if old.String() == t.String() {
			return
		}
	}
	n.list = append(n.list, t)
}

// Left notes members that were left out, by their names; of says whose they are, as
// "tools[].", and may be empty.
func (n *Notes) Left(of string, names ...string) {
	for _, name := range names {
		if all := "," + strings.Join(n.left, ",") + ","; !strings.Contains(all, ","+of+name+",") {
			n.left = append(n.left, of+name)
		}
	}
}

// Each calls tell for every note.
func (n *Notes) Each(tell func(tool.Text)) {
	for _, t := range n.list {
		tell(t)
	}
	if len(n.left) > 0 {
		tell(tool.Textf("left out, because the server of this model does not know it: %s", strings.Join(n.left, ", ")))
	}
}
