package answer

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/packed"
	"github.com/weirhost/weir/sdk/tool"
)

// The flat form of a result has no JSON but the structured content and the arguments of
// more, as bytes. A worker writes it, and its parent, which does not trust it, reads it
// from the beginning to the end.

// MaxFlat bounds the flat form of a result, in bytes: an invalid byte of a result
// becomes three, and links are in the text too.
const MaxFlat = 3*MaxMCP + 2*tool.MaxWhole

const (
	bitCut = 1 << iota
	bitIsError
	bitStructured
	bitMore
	bitError
	bitEntries
	bitMeta
)

// Flatten decodes a result of the Model Context Protocol and appends its flat form to b,
// or the text of a result that is one text.
func Flatten(b, raw []byte) (out []byte, text bool) {
	if len(raw) <= MaxMCP {
		if out, ok := jsonscan.AppendText(b, singleText(raw)); ok {
			return out, true
		}
	}
	out = decode(raw).flat(b)
	if len(out)-len(b) > MaxFlat {
		out = decoded{size: len(raw), fault: noResult}.flat(b)
	}
	return out, false
}

func (d decoded) flat(b []byte) []byte {
	set := when(d.cut, bitCut) | when(d.isError, bitIsError) | when(d.structured != nil, bitStructured) | when(d.more != nil, bitMore) | when(d.err != nil, bitError) | when(d.entries != nil, bitEntries) | when(d.meta != nil, bitMeta)
	b = append(b, byte(d.fault), set)
	b = binary.AppendVarint(binary.AppendVarint(b, int64(d.size)), int64(len(d.pieces)))
	left := tool.MaxWhole + 1 // of the texts; a byte more shows that there is more
	for _, p := range d.pieces {
		b = append(b, byte(p.kind))
		switch p.kind {
		case ofText:
			p.text = p.text[:min(len(p.text), left)]
			left -= len(p.text)
			b = packed.Text(packed.Text(packed.Text(b, p.head), p.text), p.form)
		case ofBlob:
			b = packed.Text(packed.Text(packed.Text(packed.Text(b, p.blob.Name), p.blob.MIME), p.blob.Data), p.form)
		}
	}
	b = binary.AppendVarint(b, int64(len(d.sources)))
	for _, s := range d.sources {
		b = packed.Text(packed.Text(b, s.Title), s.URL)
	}
	if d.structured != nil {
		b = packed.Text(b, d.structured)
	}
	if m := d.more; m != nil {
		for _, n := range []int{m.Shown, m.Total} {
			b = binary.AppendVarint(b, int64(n))
		}
		b = packed.Text(b, m.Args)
	}
	if e := d.entries; e != nil {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(e.Show)), int64(len(e.Lines)))
		for _, n := range e.Lines {
			b = binary.AppendVarint(b, int64(n))
		}
	}
	if d.meta != nil {
		b = packed.Text(b, d.meta)
	}
	if e := d.err; e != nil {
		b = packed.Text(packed.Text(packed.Text(b, string(e.Code)), e.Msg), e.Hint)
	}
	return b
}

func when(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

// IsFlat reports whether b has the flat form. It does not look into JSON.
func IsFlat(b []byte) bool {
	_, ok := readFlat(b)
	return ok
}

// DecodeFlat returns the answer of a flat form, in the language l. One that is none, or
// whose structured content is no JSON, has an Err.
func DecodeFlat(b []byte, l tool.Locale) Answer {
	d, ok := readFlat(b)
	if !ok || len(d.structured) > 0 && !isJSON(d.structured) || d.more != nil && len(d.more.Args) > 0 && !isJSON(d.more.Args) {
		return decoded{size: len(b), fault: noResult}.answer(l)
	}
	return d.answer(l)
}

func isJSON(b []byte) bool { return utf8.Valid(b) && jsonscan.Valid(b) }

// readFlat reads a flat form. What it returns is bounded, and the rest of it trusted no
// more than JSON would be.
func readFlat(b []byte) (d decoded, ok bool) {
	r := packed.Read(b)
	kind, set := fault(r.Byte()), r.Byte()
	d = decoded{fault: kind, cut: set&bitCut != 0, isError: set&bitIsError != 0, size: int(r.Number())}
	if n := r.Count(maxParts + 1); n > 0 {
		d.pieces = make([]piece, 0, n)
		for ; n > 0 && r.Good(); n-- {
			p := piece{kind: pieceKind(r.Byte())}
			switch {
			case p.kind == ofText:
				p.head = strings.ToValidUTF8(string(r.Bytes()), string(utf8.RuneError))
				p.raw, p.form = r.Bytes(), formIn(&r)
			case p.kind == ofBlob:
				p.blob = tool.Blob{Name: word(&r), MIME: word(&r), Data: bytes.Clone(r.Bytes())}
				p.form = formIn(&r)
			case p.kind >= pieceKinds || set&bitStructured == 0 || n > 1: // it is the last, and one
				return d, false
			}
			d.pieces = append(d.pieces, p)
		}
	}
	for n := r.Count(maxSources + maxParts); n > 0 && r.Good(); n-- {
		d.sources = append(d.sources, tool.Source{Title: word(&r), URL: word(&r)})
	}
	if set&bitStructured != 0 {
		d.structured = bytes.Clone(r.Bytes())
	}
	if set&bitMore != 0 {
		d.more = claim(&tool.More{Shown: int(r.Number()), Total: int(r.Number()), Args: bytes.Clone(r.Bytes())})
	}
	if set&bitEntries != 0 {
		d.entries = &tool.Entries{Show: int(r.Number())}
		n := r.Count(tool.MaxEntries)
		for d.entries.Lines = make([]int, 0, n); n > 0 && r.Good(); n-- {
			d.entries.Lines = append(d.entries.Lines, int(r.Number()))
		}
	}
	if set&bitMeta != 0 {
		d.meta = formIn(&r)
	}
	if set&bitError != 0 {
		d.err = &tool.Error{Code: tool.Code(word(&r)), Msg: word(&r), Hint: word(&r)}
	}
	// An error of the tool's own is written in some bytes: a call that failed before it began has none.
	return d, r.Ended() && d.fault < faults && d.size >= 0 && d.size <= MaxFlat && (d.err == nil || d.size > 0)
}

// formIn reads the form of a part; nil: there is none, or it is no JSON.
func formIn(r *packed.Reader) []byte {
	b := r.Bytes()
	if len(b) == 0 || len(b) > maxForm || !isJSON(b) {
		return nil
	}
	return bytes.Clone(b)
}

// maxWord bounds a short text, in bytes. What is shown of the longest, the address of a
// source, has 2,000 characters.
const maxWord = 16 << 10

// word reads a short text, in which invalid bytes have no place.
func word(r *packed.Reader) string {
	b := r.Bytes()
	return strings.ToValidUTF8(string(b[:min(len(b), maxWord)]), string(utf8.RuneError))
}
