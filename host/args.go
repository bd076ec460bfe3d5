package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/sdk/tool"
)

// maxArgDepth bounds the nesting of arguments.
const maxArgDepth = 64

// A faultyArgs says, in no particular language, why arguments are no JSON object.
type faultyArgs struct {
	kind   argFault
	detail string
}

type argFault int

const (
	faultSyntax argFault = iota
	faultNotObject
	faultTrailing
	faultTwice
	faultDeep
	faultNumber
)

func (f *faultyArgs) Error() string { return f.detail }

// decodeArgs reads arguments strictly: one JSON object, nothing behind it, no
// key twice, no number that a float cannot hold. Empty text is an empty object.
// Numbers stay json.Number. canonical is what encodeArgs would write, if that is
// known; nil: it is not.
func decodeArgs(raw json.RawMessage) (args map[string]any, canonical json.RawMessage, err error) {
	if len(raw) >= bulkOver {
		if args, ok := decodeLong(raw, longValue); ok {
			return args, nil, nil
		}
	} else if args, tight, ok := jsonscan.Simple(string(raw)); ok {
		if tight {
			canonical = raw
		}
		return args, canonical, nil
	}
	args, err = decodeWhole(raw)
	return args, nil, err
}

// longValue is from how many bytes on a string is worth not being read.
const longValue = 64 << 10

// decodeLong reads arguments whose length is that of a few strings, of at least long
// bytes, in a fraction of the time: the decoder reads a short name in the place of each, which no other
// string can be. ok is false when that is not so, or something is wrong with them.
func decodeLong(raw json.RawMessage, long int) (args map[string]any, ok bool) {
	if bytes.Contains(raw, []byte(`\u0000`)) {
		return nil, false
	}
	text := string(raw)
	var short bytes.Buffer
	names := map[string]string{}
	last := 0
	for begin, end := range jsonscan.Long(text, long) {
		name := strconv.Itoa(len(names))
		names["\x00"+name] = text[begin:end]
		short.WriteString(text[last:begin])
		short.WriteString(`\u0000` + name)
		last = end
	}
	short.WriteString(text[last:])
	args, err := decodeWhole(short.Bytes())
	if err != nil {
		return nil, false // the place of a fault is that in the whole
	}
	_, err = eachString(args, func(s string) (string, error) {
		if whole, ok := names[s]; ok {
			return whole, nil
		}
		return s, nil
	})
	return args, err == nil
}

func decodeWhole(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &faultyArgs{kind: faultTrailing}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &faultyArgs{kind: faultNotObject}
	}
	return m, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxArgDepth {
		return nil, &faultyArgs{kind: faultDeep}
	}
	t, err := dec.Token()
	if err != nil {
		return nil, &faultyArgs{kind: faultSyntax, detail: strconv.FormatInt(dec.InputOffset(), 10)}
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return decodeObject(dec, depth)
		}
		return decodeList(dec, depth)
	case json.Number:
		if _, err := strconv.ParseFloat(string(t), 64); err != nil || len(t) > 400 {
			return nil, &faultyArgs{kind: faultNumber, detail: clip(string(t), 40)}
		}
	}
	return t, nil
}

func decodeObject(dec *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, &faultyArgs{kind: faultSyntax, detail: strconv.FormatInt(dec.InputOffset(), 10)}
		}
		if _, twice := m[key]; twice {
			return nil, &faultyArgs{kind: faultTwice, detail: clip(key, 60)}
		}
		if m[key], err = decodeValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	return m, closing(dec)
}

func decodeList(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, closing(dec)
}

// closing reads the bracket that ends an object or a list.
func closing(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return &faultyArgs{kind: faultSyntax, detail: strconv.FormatInt(dec.InputOffset(), 10)}
	}
	return nil
}

// badArgs words the fault for a model.
func (w wording) badArgs(err error) *tool.Error {
	var f *faultyArgs
	if !errors.As(err, &f) {
		return w.failure(tool.BadArgs, w.argSyntax, w.hintObject, "0")
	}
	msg := map[argFault]string{
		faultSyntax: w.argSyntax, faultNotObject: w.argNotObject, faultTrailing: w.argTrailing,
		faultTwice: w.argTwice, faultDeep: w.argDeep, faultNumber: w.argNumber,
	}[f.kind]
	if strings.Contains(msg, "%") {
		msg = fmt.Sprintf(msg, f.detail)
	}
	return &tool.Error{Code: tool.BadArgs, Msg: msg, Hint: w.hintObject}
}

// encodeArgs writes arguments in one canonical form, sorted by key.
func encodeArgs(args map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(args); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// eachString replaces every string inside a decoded value by what f makes of it.
func eachString(v any, f func(string) (string, error)) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return f(v)
	case map[string]any:
		for k, e := range v {
			if v[k], err = eachString(e, f); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = eachString(e, f); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// anyString reports whether f says yes to a string inside a decoded value.
func anyString(v any, f func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return f(v)
	case map[string]any:
		for _, e := range v {
			if anyString(e, f) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if anyString(e, f) {
				return true
			}
		}
	}
	return false
}

// resultArg is a whole argument that stands for an archived result, or for a
// part of one.
var resultArg = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@result:([0-9A-Za-z-]{8,64})(#(/.*)?)?$`) })

// expand puts archived results in the place of the arguments that name them,
// and reports whether there were any. The map itself is changed.
func (s *Session) expand(ctx context.Context, args map[string]any) (expanded bool, err error) {
	if !anyString(args, namesResult) { // as in most calls
		return false, nil
	}
	_, err = eachString(args, func(text string) (string, error) {
		if !namesResult(text) {
			return text, nil
		}
		m := resultArg().FindStringSubmatch(text)
		if m == nil {
			return text, nil
		}
		expanded = true
		page, err := s.h.archive.Read(ctx, s.scope(), m[1], archive.Part{Pointer: m[3], Locale: s.locale})
		if err != nil {
			return "", s.historyError(ctx, err, m[1], page.Entry)
		}
		return page.Text, nil
	})
	return expanded, err
}

// namesResult reports what resultArg takes longer to see: that a text is none.
func namesResult(text string) bool { return strings.HasPrefix(text, "@result:") }

// What only a placeholder or a notice of ours looks like, in both languages,
// and what else in it may be an id.
var (
	ourMark = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\[\s*(tool result archived\s*:|工具结果存档\s*[:：])|\[\s*[\d,]+ of [\d,]+ characters\b[^\]]*left out|\[\s*characters [\d,]+ to [\d,]+ of [\d,]+\.|\[\s*(结果已)?截断了?\s*\d+ 字符|\[第 \d+ 至 \d+ 字符，共|\[(a summary by a model of|以上是模型写的摘要|identical to the result of|结果相同: 与)`)
	})
	anyID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	})
)

// writesBack reports whether arguments hold a placeholder or a notice of this
// conversation: a tool that writes would put it where the text should be. Text
// about somebody else's placeholders does not count.
func (s *Session) writesBack(ctx context.Context, args map[string]any) bool {
	return anyString(args, func(text string) bool {
		return strings.IndexByte(text, '[') >= 0 && ourMark().MatchString(text) && s.ours(ctx, text)
	})
}

// ours reports whether a text with a mark speaks of this conversation: it names
// one of its results, or none at all.
func (s *Session) ours(ctx context.Context, text string) bool {
	ids := anyID().FindAllString(text, 16)
	for _, id := range ids {
		e, err := s.h.archive.Find(ctx, string(s.principal), id)
		known := err == nil || errors.Is(err, archive.ErrExpired)
		if known && e.Scope.Conversation == s.conversation {
			return true
		}
	}
	return len(ids) == 0
}
