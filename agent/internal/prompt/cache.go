package prompt

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/agent/internal/tokens"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// A Cache keeps what a turn reads and writes about its tools for the next
// turn with the very same ones: that takes longer than everything else about a
// short turn. What a turn sends is the same to the byte with it and without. The
// zero value is ready; it is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	kits atomic.Pointer[[]*Kit] // an immutable slice, the newest first
}

// The bounds of a cache: lists of tools, as profiles, users and languages have
// theirs, and system prompts with one of them, in number and in the bytes of what
// is added to each.
const (
	maxKits    = 32
	maxPrompts = 8
	maxExtra   = 16 << 10
)

// Of returns the kit of these tools. Neither they nor what hangs on them may be
// changed any more.
func (c *Cache) Of(specs []tool.Spec) *Kit {
	if k := c.find(specs); k != nil {
		return k
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.find(specs); k != nil { // somebody was faster
		return k
	}
	k := newKit(specs)
	kits := []*Kit{k}
	if old := c.kits.Load(); old != nil {
		kits = append(kits, (*old)[:min(len(*old), maxKits-1)]...)
	}
	c.kits.Store(&kits)
	return k
}

func (c *Cache) find(specs []tool.Spec) *Kit {
	kits := c.kits.Load()
	if kits == nil {
		return nil
	}
	for _, k := range *kits {
		if slices.EqualFunc(k.Specs, specs, sameSpec) {
			return k
		}
	}
	return nil
}

// sameSpec reports whether two descriptions are equal in everything. Those of one
// host share their texts, which makes the comparison a few nanoseconds.
func sameSpec(a, b tool.Spec) bool {
	return a.Name == b.Name && a.Written == b.Written && a.Description == b.Description && a.DescriptionZh == b.DescriptionZh &&
		bytes.Equal(a.Params, b.Params) && bytes.Equal(a.ParamsZh, b.ParamsZh) && bytes.Equal(a.OutputSchema, b.OutputSchema) && a.Script == b.Script && sameRemote(a.Remote, b.Remote) && a.Hints == b.Hints && sameLimits(a.Output, b.Output) &&
		slices.EqualFunc(a.Examples, b.Examples, func(x, y tool.Example) bool {
			return x.Ask == y.Ask && x.AskZh == y.AskZh && bytes.Equal(x.Args, y.Args) && bytes.Equal(x.ArgsZh, y.ArgsZh)
		})
}

func sameRemote(a, b *tool.Remote) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.Server == b.Server && a.Title == b.Title && a.Trusted == b.Trusted && a.Instructions == b.Instructions && bytes.Equal(a.Annotations, b.Annotations) &&
		bytes.Equal(a.Meta, b.Meta) && bytes.Equal(a.Execution, b.Execution) && bytes.Equal(a.Icons, b.Icons)
}

func sameLimits(a, b tool.Limits) bool {
	return a.MaxChars == b.MaxChars && a.MaxLines == b.MaxLines && a.Strategy == b.Strategy && a.Head == b.Head && a.Tail == b.Tail &&
		a.Archive == b.Archive && a.OpenEnded == b.OpenEnded && a.Timeout == b.Timeout && a.Memory == b.Memory && slices.Equal(a.Keep, b.Keep) && a.KeepContext == b.KeepContext
}

// A Kit is what is known of one list of tools. It is safe for concurrent use.
type Kit struct {
	Specs []tool.Spec
	// Recogniser reads the tools' schemas, once.
	Recogniser func() *parse.Set
	// Quotes are the tools as calls are compared with foreign texts.
	Quotes func() *quote.Tools

	mu       sync.Mutex
	prompts  map[promptKey]System
	texts    map[textsKey]*toolTexts
	natives  map[tool.Locale]Native
	authored map[tool.Locale]*quote.Book
}

func newKit(specs []tool.Spec) *Kit {
	set := sync.OnceValue(func() *parse.Set { return parse.NewSet(parse.Options{Tools: specs}) })
	return &Kit{
		Specs:      specs,
		Recogniser: set,
		Quotes:     sync.OnceValue(func() *quote.Tools { return quote.NewTools(specs, set()) }),
		prompts:    map[promptKey]System{}, texts: map[textsKey]*toolTexts{}, natives: map[tool.Locale]Native{}, authored: map[tool.Locale]*quote.Book{},
	}
}

// A promptKey is what a system prompt depends on beside the tools, where it does
// not depend on the conversation.
type promptKey struct {
	locale tool.Locale
	native bool
	budget int
	extra  string
	across bool
	found  string // Finding's
	year   int
	day    int
}

// A textsKey is what the texts of tools depend on beside the tools.
type textsKey struct {
	locale tool.Locale
	budget int
}

// written are the tools' texts for a prompt.
func (k *Kit) written(in Input) *toolTexts {
	key := textsKey{in.Locale, in.Budget}
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

// Prompt writes the system prompt for in, whose tools are the kit's. A prompt
// that tells only some of the tools whole goes by the conversation's first
// question, and one that asks for JSON by its schema: those are put together
// again, of texts that are written already.
func (k *Kit) Prompt(in Input) System {
	keeps := !in.Json && len(in.Extra) <= maxExtra
	key := promptKey{in.Locale, in.Native, in.Budget, in.Extra, in.Across, in.Finding.key(in.Tools), in.Today.Year(), in.Today.YearDay()}
	if keeps {
		k.mu.Lock()
		sp, ok := k.prompts[key]
		k.mu.Unlock()
		if ok {
			return sp
		}
	}
	if !in.Native || in.Finding != nil {
		in.texts = k.written(in)
	}
	sp := New(in)
	if !keeps || sp.chosen {
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

// A Native is what providers' own tool calling is given.
type Native struct {
	Tools []tool.Spec
	Raw   []float64 // uncalibrated tokens of each
	Sum   float64
}

// Native returns the tools for a provider's own calling: in the prompt's language,
// and neutralised as in the prompt. They must not be modified.
func (k *Kit) Native(l tool.Locale) Native {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n, ok := k.natives[l]; ok {
		return n
	}
	n := Native{Tools: slices.Clone(k.Specs), Raw: make([]float64, len(k.Specs))}
	for i := range n.Tools {
		n.Tools[i] = Brief(n.Tools[i], l, For(l).shortened)
		t := n.Tools[i]
		n.Raw[i] = tokens.PerMessage + tokens.Count(t.Name) + tokens.Count(t.Description) + tokens.Count(string(t.Params))
		n.Sum += n.Raw[i]
	}
	k.natives[l] = n
	return n
}

// Authored returns what the authors of the tools say to a model in language l, to which
// nothing may be added. The examples' calls, which the prompt writes, are not in it.
func (k *Kit) Authored(l tool.Locale) *quote.Book {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.authored[l]
	if b == nil {
		var texts []string
		for _, s := range k.Specs {
			texts = append(texts, s.Describe(l), string(s.Parameters(l)))
			for _, e := range s.Examples {
				texts = append(texts, e.Ask, e.AskZh, string(e.Args), string(e.ArgsZh))
			}
		}
		b = quote.Read(texts, k.Quotes())
		k.authored[l] = b
	}
	return b
}

// escape is a character of ASCII in JSON's long form, after however many
// backslashes.
var escape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\+u00[2-7][0-9a-fA-F]`) })

// unescape writes such characters as themselves, so that nothing hides in them
// from Neutralise that a provider would decode.
func unescape(s string) string {
	return escape().ReplaceAllStringFunc(s, func(e string) string {
		at := strings.IndexByte(e, 'u')
		n, err := strconv.ParseUint(e[at+1:], 16, 8)
		if c := byte(n); err == nil && at%2 == 1 && c != '"' && c != '\\' && c != 0x7f {
			return e[:at-1] + string(rune(c))
		}
		return e
	})
}
