package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/sdk/tool"
)

// A Short is a result that its caller keeps in its own messages, because it is too short
// for the archive. It has no uuid.
type Short struct {
	Tool string
	Args json.RawMessage
	Text string
	At   time.Time
}

// maxShort is how many characters of a Short a search shows at most: those that are longer
// are of an older weir, and the lines with the words stand for them.
const maxShort = 1000

// findShort returns the results that hold every word of the query in their text or their
// call, newest first, at most as many as a search returns places.
func findShort(query string, kept []Short) (found []Short) {
	words := snippet.Words(query)
	for _, r := range slices.Backward(kept) {
		all := strings.ToLower(r.Tool + "\n" + describe.Query(r.Tool, r.Args) + "\n" + r.Text)
		if len(found) < archive.DefaultHits && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) }) {
			found = append(found, r)
		}
	}
	return found
}

// writeShort writes what findShort found, whole where it is short.
func writeShort(b *strings.Builder, l tool.Locale, query string, found []Short) {
	if len(found) == 0 {
		return
	}
	b.WriteString("\n\n" + msg.In(l, tool.Textf("Short results of this conversation, which are not in the archive, newest first:")))
	for _, r := range found {
		fmt.Fprintf(b, "\n\n%s · %s · %s", r.Tool, describe.Query(r.Tool, r.Args), r.At.UTC().Format("2006-01-02 15:04"))
		if len(r.Text) <= maxShort || snippet.Clip(r.Text, maxShort) == r.Text {
			b.WriteString("\n" + r.Text)
			continue
		}
		for _, line := range snippet.Lines(r.Text, snippet.Words(query), 3) {
			fmt.Fprintf(b, "\n%d: %s", line.Number, line.Snippet)
		}
	}
}
