package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of what a result says of its parts beside their texts, in bytes: of one part, and
// of all of them.
const (
	maxForm  = 64 << 10
	maxForms = 256 << 10
)

// A form is a part in the protocol's form, without its text and its data.
type form struct {
	Type        string          `json:"type"`
	MIME        string          `json:"mimeType,omitempty"`
	URI         string          `json:"uri,omitempty"`
	Name        string          `json:"name,omitempty"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Size        *int64          `json:"size,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"`
	Resource    *formOf         `json:"resource,omitempty"`
}

type formOf struct {
	URI  string          `json:"uri"`
	MIME string          `json:"mimeType,omitempty"`
	Meta json.RawMessage `json:"_meta,omitempty"`
}

// form returns the form of a part; nil: its kind and its data say all of it.
func (c content) form(kind string) []byte {
	f := form{Type: kind, Annotations: object(c.Annotations), Meta: object(c.Meta)}
	switch r := c.Resource; {
	case kind == "resource_link":
		f.MIME, f.URI, f.Name, f.Title, f.Description, f.Size, f.Icons = c.MIME, text.Clean(c.URI), text.Clean(c.Name), text.Clean(c.Title), text.Clean(c.Description), c.Size, c.Icons
	case r != nil && (r.Text != nil || !strings.HasPrefix(r.URI, partScheme)):
		f.Resource = &formOf{text.Clean(r.URI), r.MIME, object(r.Meta)}
	case f.Annotations == nil && f.Meta == nil:
		return nil
	}
	out, err := json.Marshal(f)
	if err != nil || len(out) > maxForm {
		return nil
	}
	return out
}

// partScheme begins the address of a part that has a name only.
const partScheme = "part:"

// object returns a JSON object of bounded length, else nil.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxForm || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil
	}
	return raw
}

// line is what a model reads of a link.
func (c content) line() string {
	out := strings.TrimSpace(cmp.Or(c.Title, c.Name) + " " + c.URI)
	var more []string
	if c.MIME != "" {
		more = append(more, c.MIME)
	}
	if c.Size != nil {
		more = append(more, strconv.FormatInt(*c.Size, 10)+" B")
	}
	if len(more) > 0 {
		out += " (" + strings.Join(more, ", ") + ")"
	}
	if about := strings.TrimSpace(c.Description); about != "" {
		out += ": " + about
	}
	return out
}

// head is the line before the text of a resource.
func (r resource) head() string {
	if r.URI == "" || strings.HasPrefix(r.URI, partScheme) {
		return ""
	}
	return r.URI + ":\n"
}

// blocks returns the parts of the answer a; nil: it is one text, or its parts cannot be told
// apart in the normalised text.
func (d decoded) blocks(a Answer) []tool.Block {
	if d.err != nil || d.cut || a.Cut || len(d.pieces) == 1 && d.pieces[0].kind == ofText && d.pieces[0].form == nil && !d.isError {
		return nil
	}
	out, parts, forms, whole := []tool.Block{}, 0, 0, a.Text
	for i, p := range d.pieces {
		if i > 0 {
			var ok bool
			if whole, ok = strings.CutPrefix(whole, "\n"); !ok {
				return nil
			}
		}
		b := tool.Block{Form: p.form}
		switch p.kind {
		case structuredText, structuredPart: // the last
			return out
		case ofBlob:
			parts++
			b.Part = parts
			if end := strings.IndexByte(whole, '\n'); end >= 0 { // it is one line
				whole = whole[end:]
			} else {
				whole = ""
			}
		case ofText:
			head, own := limit.NormaliseString(p.head), limit.NormaliseString(cmp.Or(p.text, string(p.raw)))
			if !strings.HasPrefix(whole, head) || !strings.HasPrefix(whole[len(head):], own) {
				return nil
			}
			b.Text = whole[len(head):][:len(own)] // the memory of the whole
			whole = whole[len(head)+len(own):]
		}
		if forms += len(p.form); forms > maxForms {
			return nil
		}
		out = append(out, b)
	}
	if whole != "" {
		return nil
	}
	return out
}
