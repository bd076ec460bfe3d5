package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// maxInline bounds the bytes of a part inside the answer; a longer one is linked.
const maxInline = 1 << 20

// A form is what a server says of a part of its answer.
type form struct {
	Type, URI, Name, Title, Description, MIMEType string
	Size                                          *int64
	Meta                                          mcp.Meta `json:"_meta"`
	Annotations                                   *mcp.Annotations
	Icons                                         []mcp.Icon
	Resource                                      *struct {
		URI, MIMEType string
		Meta          mcp.Meta `json:"_meta"`
	}
}

// formOf reads the form of a part. What cannot be read says nothing.
func formOf(b tool.Block) form {
	var f form
	if len(b.Form) > 0 && json.Unmarshal(b.Form, &f) != nil {
		return form{}
	}
	return f
}

// contents returns the shown text and the parts. If nothing is left out, they are those of
// the tool's answer, in its order; else one text comes first, and the parts that are no text
// after it. structured says that the client gets the structured answer.
func (u *user) contents(c Client, r tool.Result, structured bool) []mcp.Content {
	out, rest := []mcp.Content{}, []mcp.Content{}
	blocks := r.Blocks
	if blocks == nil || r.Shown.Cut() || r.Repeat || !structured && len(r.Structured) > 0 {
		text := limit.Render(r, u.locale())
		forms := map[int]form{}
		for _, b := range blocks {
			forms[b.Part] = formOf(b)
		}
		for i, p := range r.Parts {
			if p.Name == answer.StructuredName && len(p.Data) <= u.s.cfg.StructuredBytes {
				continue // see structured
			}
			part := u.part(c, r, i, p, forms[i+1])
			if part == nil {
				continue
			}
			before, after, ok := cutLine(text, limit.Neutralise(answer.PartLine(p, u.locale())))
			if !ok || r.Shown.Cut() {
				rest = append(rest, part)
				continue
			}
			if before != "" {
				out = append(out, &mcp.TextContent{Text: before})
			}
			out, text = append(out, part), after
		}
		if text != "" || len(out) == 0 {
			out = append(out, &mcp.TextContent{Text: text})
		}
		return append(out, rest...)
	}
	for _, b := range blocks {
		if b.Part > 0 && b.Part <= len(r.Parts) {
			if part := u.part(c, r, b.Part-1, r.Parts[b.Part-1], formOf(b)); part != nil {
				out = append(out, part)
			} else { // what a client without links reads in its place
				out = append(out, &mcp.TextContent{Text: limit.Neutralise(answer.PartLine(r.Parts[b.Part-1], u.locale()))})
			}
			continue
		}
		out = append(out, block(b))
	}
	if around := u.around(r); around != "" {
		out = append(out, &mcp.TextContent{Text: around})
	}
	return out
}

// block returns a part that has no blob.
func block(b tool.Block) mcp.Content {
	f := formOf(b)
	switch {
	case f.Type == "resource_link":
		return &mcp.ResourceLink{URI: f.URI, Name: f.Name, Title: f.Title, Description: limit.Neutralise(f.Description), MIMEType: f.MIMEType, Size: f.Size,
			Meta: f.Meta, Annotations: f.Annotations, Icons: f.Icons}
	case f.Resource != nil:
		return &mcp.EmbeddedResource{Meta: f.Meta, Annotations: f.Annotations,
			Resource: &mcp.ResourceContents{URI: f.Resource.URI, MIMEType: f.Resource.MIMEType, Text: limit.Neutralise(b.Text), Meta: f.Resource.Meta}}
	}
	return &mcp.TextContent{Text: limit.Neutralise(b.Text), Meta: f.Meta, Annotations: f.Annotations}
}

// around returns what weir says of a result besides its text: that of an earlier call with
// the same, of hosts that were refused, of more that there is.
func (u *user) around(r tool.Result) string {
	if r.Note == "" && r.More == nil && (r.Ref == nil || !r.Ref.Again) {
		return ""
	}
	r.Err, r.Shown = nil, tool.View{}
	return limit.Render(r.WithWhole(""), u.locale())
}

// part is one of a result's parts: itself, or a link to it when it is long; nil: the client
// gets no links.
func (u *user) part(c Client, r tool.Result, i int, p tool.Blob, f form) mcp.Content {
	uri := "weir://result/" + r.CallID + fmt.Sprintf("/part/%d", i)
	if r.Ref != nil {
		uri = partURI(r.Ref.UUID, i)
		// A client would show a text to its model, without the tool's limit.
		if len(p.Data) > maxInline || isText(p.MIME) && len(p.Data) > cmp.Or(u.promise(r.Tool).most, tool.DefaultMaxChars) {
			if !c.Links {
				return nil
			}
			return &mcp.ResourceLink{URI: uri, Name: cmp.Or(p.Name, r.Tool), MIMEType: p.MIME, Size: new(int64(len(p.Data))), Meta: f.Meta, Annotations: f.Annotations}
		}
	}
	switch {
	case f.Resource != nil:
		return &mcp.EmbeddedResource{Meta: f.Meta, Annotations: f.Annotations,
			Resource: &mcp.ResourceContents{URI: cmp.Or(f.Resource.URI, uri), MIMEType: f.Resource.MIMEType, Blob: p.Data, Meta: f.Resource.Meta}}
	case isKind(p.MIME, "image"):
		return &mcp.ImageContent{Data: p.Data, MIMEType: p.MIME, Meta: f.Meta, Annotations: f.Annotations}
	case isKind(p.MIME, "audio"):
		return &mcp.AudioContent{Data: p.Data, MIMEType: p.MIME, Meta: f.Meta, Annotations: f.Annotations}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: p.MIME, Blob: p.Data}, Meta: f.Meta, Annotations: f.Annotations}
}

func isText(mime string) bool { return isKind(mime, "text") || mime == "application/json" }

// cutLine cuts a text at a whole line.
func cutLine(text, line string) (before, after string, ok bool) {
	before, after, ok = strings.Cut("\n"+text+"\n", "\n"+line+"\n")
	return strings.TrimPrefix(before, "\n"), strings.TrimSuffix(after, "\n"), ok
}
