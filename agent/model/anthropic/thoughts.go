package anthropic

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent/model/internal/chatform"
)

const (
	// maxThoughts is of how many replies the thoughts are kept, and maxThoughtsSize how much
	// of them, in bytes.
	maxThoughts     = 1000
	maxThoughtsSize = 16 << 20
)

// thoughts are what the model thought in its last replies, signed. OpenAI's protocol has no
// place for a signature, and Anthropic does not take a thought without it: what a client sends
// back as reasoning_content is found here by its text. It is safe for concurrent use.
type thoughts struct {
	mu    sync.Mutex
	kept  map[[sha256.Size]byte][]json.RawMessage
	order [][sha256.Size]byte
	size  map[[sha256.Size]byte]int
	all   int
}

func thoughtKey(text string) [sha256.Size]byte { return sha256.Sum256([]byte(strings.TrimSpace(text))) }

// keep keeps the thoughts of a complete reply, where they have a text and a signature.
func (t *thoughts) keep(a *assembler) {
	var text strings.Builder
	var blocks []json.RawMessage
	size := 0
	for _, b := range a.blocks {
		o := new(chatform.Object).Set("type", b.kind)
		switch {
		case b.kind == "thinking" && b.signature.Len() > 0:
			text.WriteString(b.text.String())
			o.Set("thinking", b.text.String()).Set("signature", b.signature.String())
		case b.kind == "redacted_thinking":
			o.Set("data", b.text.String())
		default:
			continue
		}
		blocks = append(blocks, o.Bytes())
		size += b.text.Len() + b.signature.Len()
	}
	if strings.TrimSpace(text.String()) != "" {
		t.put(thoughtKey(text.String()), blocks, size)
	}
}

func (t *thoughts) put(key [sha256.Size]byte, blocks []json.RawMessage, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept, t.size = map[[sha256.Size]byte][]json.RawMessage{}, map[[sha256.Size]byte]int{}
	}
	if t.kept[key] == nil {
		t.order = append(t.order, key)
	}
	t.all += size - t.size[key]
	t.kept[key], t.size[key] = blocks, size
	for len(t.order) > maxThoughts || t.all > maxThoughtsSize {
		first := t.order[0]
		t.order = t.order[1:]
		t.all -= t.size[first]
		delete(t.kept, first)
		delete(t.size, first)
	}
}

// of returns the blocks of a thought; nil: it is not known.
func (t *thoughts) of(text string) (blocks []*chatform.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range t.kept[thoughtKey(text)] {
		blocks = append(blocks, chatform.Keep(b))
	}
	return blocks
}
