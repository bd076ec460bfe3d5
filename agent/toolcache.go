package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A ToolCache keeps what a turn reads and writes about its tools for the next
// turn with the very same ones: that takes longer than everything else about a
// short turn. What a turn sends is the same to the byte with it and without. The
// zero value is ready; it is safe for concurrent use.
type ToolCache struct {
	mu   sync.Mutex
	kits atomic.Pointer[[]*kit] // a slice that nobody changes, the newest first
}

// The bounds of a cache: lists of tools, as profiles, users and languages have
// theirs, and system prompts with one of them, in number and in the bytes of what
// is added to each.
const (
	maxKits    = 16
	maxPrompts = 8
	maxExtra   = 16 << 10
)

// of returns the kit of these tools. Neither they nor what hangs on them may be
// changed any more.
func (c *ToolCache) of(specs []tool.Spec) *kit {
	if k := c.find(specs); k != nil {
		return k
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.find(specs); k != nil { // somebody was faster
		return k
	}
	k := newKit(specs)
	kits := []*kit{k}
	if old := c.kits.Load(); old != nil {
		kits = append(kits, (*old)[:min(len(*old), maxKits-1)]...)
	}
	c.kits.Store(&kits)
	return k
}

func (c *ToolCache) find(specs []tool.Spec) *kit {
	kits := c.kits.Load()
	if kits == nil {
		return nil
	}
	for _, k := range *kits {
		if slices.EqualFunc(k.specs, specs, sameSpec) {
			return k
		}
	}
	return nil
}

// sameSpec reports whether two descriptions are equal in everything. Those of one
// host share their texts, which makes the comparison a few nanoseconds.
func sameSpec(a, b tool.Spec) bool {
	return a.Name == b.Name && a.Description == b.Description && a.DescriptionZh == b.DescriptionZh &&
		bytes.Equal(a.Params, b.Params) && a.Hints == b.Hints && sameLimits(a.Output, b.Output) &&
		slices.EqualFunc(a.Examples, b.Examples, func(x, y tool.Example) bool {
			return x.Ask == y.Ask && x.AskZh == y.AskZh && bytes.Equal(x.Args, y.Args)
		})
}

func sameLimits(a, b tool.Limits) bool {
	return a.MaxChars == b.MaxChars && a.MaxLines == b.MaxLines && a.Strategy == b.Strategy && a.Head == b.Head && a.Tail == b.Tail &&
		a.Archive == b.Archive && a.Timeout == b.Timeout && a.Memory == b.Memory && slices.Equal(a.Keep, b.Keep)
}

// A kit is what is known of one list of tools. It is safe for concurrent use.
type kit struct {
	specs []tool.Spec
	// recogniser reads the tools' schemas, once.
	recogniser func() *parse.Set

	mu      sync.Mutex
	prompts map[promptKey]systemPrompt
	texts   map[textsKey]*toolTexts
	natives map[tool.Locale]nativeList
}

func newKit(specs []tool.Spec) *kit {
	return &kit{
		specs:      specs,
		recogniser: sync.OnceValue(func() *parse.Set { return parse.NewSet(parse.Options{Tools: specs}) }),
		prompts:    map[promptKey]systemPrompt{}, texts: map[textsKey]*toolTexts{}, natives: map[tool.Locale]nativeList{},
	}
}

// A promptKey is what a system prompt depends on beside the tools, where it does
// not depend on the conversation.
type promptKey struct {
	locale tool.Locale
	mode   Mode
	budget int
	extra  string
	year   int
	day    int
}

// A textsKey is what the texts of tools depend on beside the tools.
type textsKey struct {
	locale tool.Locale
	budget int
}

// written are the tools' texts for a prompt.
func (k *kit) written(in promptInput) *toolTexts {
	key := textsKey{in.locale, in.budget}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.texts[key]
	if t == nil {
		if len(k.texts) >= maxPrompts {
			clear(k.texts)
		}
		t = writeTools(in)
		k.texts[key] = t
	}
	return t
}

// prompt writes the system prompt for in, whose tools are the kit's. A prompt
// that tells only some of the tools whole goes by the conversation's first
// question, and one that asks for JSON by its schema: those are put together
// anew, of texts that are written already.
func (k *kit) prompt(in promptInput) systemPrompt {
	keeps := in.format == nil && len(in.extra) <= maxExtra
	key := promptKey{in.locale, in.mode, in.budget, in.extra, in.today.Year(), in.today.YearDay()}
	if keeps {
		k.mu.Lock()
		sp, ok := k.prompts[key]
		k.mu.Unlock()
		if ok {
			return sp
		}
	}
	if in.mode != ModeNative {
		in.texts = k.written(in)
	}
	sp := newSystemPrompt(in)
	if !keeps || sp.describes {
		return sp
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.prompts) >= maxPrompts {
		clear(k.prompts)
	}
	k.prompts[key] = sp
	return sp
}

// A nativeList is what providers' own tool calling is given.
type nativeList struct {
	tools []tool.Spec
	raw   []float64 // uncalibrated tokens of each
	sum   float64
}

// native writes the tools as a provider's own calling takes them: in the prompt's
// language, and as tame as in the prompt. Nobody may change them.
func (k *kit) native(l tool.Locale) nativeList {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n, ok := k.natives[l]; ok {
		return n
	}
	n := nativeList{tools: slices.Clone(k.specs), raw: make([]float64, len(k.specs))}
	for i := range n.tools {
		t := &n.tools[i]
		t.Description, t.DescriptionZh = clean(t.Describe(l)), ""
		t.Params = json.RawMessage(limit.Neutralise(unescape(string(t.Params))))
		n.raw[i] = perMessage + rawTokens(t.Name) + rawTokens(t.Description) + rawTokens(string(t.Params))
		n.sum += n.raw[i]
	}
	k.natives[l] = n
	return n
}
