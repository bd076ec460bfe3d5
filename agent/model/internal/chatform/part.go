package chatform

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// The kinds of parts.
const (
	Text  = "text"
	Image = "image_url"
	File  = "file"
)

// A Part is one part of a content.
type Part struct {
	// Kind is what the client calls it: Text, Image, File or another, of which only Raw is set.
	Kind string
	Text string
	// Media is the media type of a picture or a file, and Data its bytes in base64. URL is the
	// address of a picture that is not sent along; then there are no Data.
	Media, Data, URL string
	// Name is the name of a file; it may be empty.
	Name string
	// Raw is the part as the client sent it, and More has the members that are not above.
	Raw  json.RawMessage
	More Members
}

// Unknown returns the refusal of a part that a protocol has no place for.
func (p Part) Unknown() *Fault {
	name := p.Kind
	if p.Name != "" {
		name += " " + p.Name
	}
	return &Fault{tool.Textf("a part of a message cannot be handed on, because the server of this model has no place for it: %s", name)}
}

func (d *reader) part(raw json.RawMessage) Part {
	m := d.members(raw, "content")
	p := Part{Kind: d.text(m, "type"), Raw: raw, More: m}
	switch p.Kind {
	case Text:
		p.Text = d.text(m, "text")
	case "refusal":
		p.Kind, p.Text = Text, d.text(m, "refusal")
	case Image:
		d.image(&p)
	case File:
		d.file(&p)
	}
	return p
}

func (d *reader) image(p *Part) {
	var address string
	if raw := p.More[Image]; len(raw) > 0 && raw[0] == '"' { // some clients send the address alone
		address = d.text(p.More, Image)
	} else {
		m := d.members(p.More.Take(Image), Image)
		address = d.text(m, "url")
		for name, v := range m {
			if name != "detail" || string(v) != `"auto"` {
				p.More[name] = v
			}
		}
	}
	media, data, ok := dataURL(address)
	scheme, _, _ := strings.Cut(address, ":")
	switch {
	case ok && strings.HasPrefix(media, "image/"):
		p.Media, p.Data = media, data
	case strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"):
		p.URL = address
	default:
		d.refuse(tool.Textf("a part of the type image_url cannot be handed on: its address is neither a picture in data: nor one of https:"))
	}
}

func (d *reader) file(p *Part) {
	m := d.members(p.More.Take(File), File)
	p.Name = d.text(m, "filename")
	data := d.text(m, "file_data")
	if media, inside, ok := dataURL(data); ok {
		p.Media, p.Data = media, inside
	} else if strings.HasSuffix(strings.ToLower(p.Name), ".pdf") {
		p.Media, p.Data = "application/pdf", data
	}
}

// dataURL returns the media type of a data: address, and its data in base64.
func dataURL(s string) (media, data string, ok bool) {
	head, data, ok := strings.Cut(s, ",")
	if !ok || len(head) < 5 || !strings.EqualFold(head[:5], "data:") {
		return "", "", false
	}
	media, params, _ := strings.Cut(head[5:], ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if params != "base64" && !strings.HasSuffix(params, ";base64") {
		plain, err := url.PathUnescape(data)
		return media, base64.StdEncoding.EncodeToString([]byte(plain)), err == nil
	}
	return media, data, true
}
