package inner

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/limit"
)

// An Own is what of a request weir has written in place of results: placeholders and notices.
// The zero value is empty.
type Own struct {
	ids   map[string]bool // of the results that can be loaded
	heads map[string]bool // the beginnings of placeholders and notices
}

// IDs returns the ids of the results of this conversation. The map must not be changed.
func (o *Own) IDs() map[string]bool { return o.ids }

// Any reports whether the request has a text of weir's.
func (o *Own) Any() bool { return len(o.heads) > 0 }

func (o *Own) addID(id string) {
	if o.ids == nil {
		o.ids = map[string]bool{}
	}
	o.ids[id] = true
}

func (o *Own) addAnswered(a Answered) {
	if a.UUID != "" {
		o.addID(a.UUID)
	}
	o.addText(a.Text)
}

// addText notes the placeholders and notices in a text that name one of the results. Others
// are the client's: its files may be about weir.
func (o *Own) addText(text string) {
	for m := range limit.Marks(text) {
		if !o.names(m) {
			continue
		}
		if o.heads == nil {
			o.heads = map[string]bool{}
		}
		o.heads[head(m)] = true
	}
}

// head returns the beginning of a mark, in which are the numbers of a notice.
func head(mark string) string { return string([]rune(mark)[:min(len([]rune(mark)), 28)]) }

// anyID matches what may be the id of a result.
var anyID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
})

// In reports whether the arguments of a call hold one of weir's texts. Text about placeholders
// of other conversations, as in a manual, is none.
func (o *Own) In(args string) bool {
	if !o.Any() {
		return false
	}
	var v any
	if json.Unmarshal([]byte(args), &v) != nil { // no JSON: as it is, with its escapes
		return o.inText(strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t").Replace(args))
	}
	return o.inValue(v)
}

func (o *Own) inValue(v any) bool {
	switch v := v.(type) {
	case string:
		return o.inText(v)
	case []any:
		for _, e := range v {
			if o.inValue(e) {
				return true
			}
		}
	case map[string]any:
		for name, e := range v {
			if o.inText(name) || o.inValue(e) {
				return true
			}
		}
	}
	return false
}

func (o *Own) inText(text string) bool {
	text = strings.ReplaceAll(text, "［", "[") // as a model without tool calling reads it
	for m := range limit.Marks(text) {
		if o.names(m) || o.heads[head(m)] && !anyID().MatchString(m) {
			return true
		}
	}
	return false
}

// names reports whether a mark names a result of this conversation.
func (o *Own) names(mark string) bool {
	for _, id := range anyID().FindAllString(mark, -1) {
		if o.ids[strings.ToLower(id)] {
			return true
		}
	}
	return false
}
