package describe

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/sdk/tool"
)

// The bounds of the sources: their number, the characters of a title, the bytes of an
// address, and the bytes of text that are searched.
const (
	maxSources  = 20
	maxTitle    = 120
	maxURL      = 500
	sourceBytes = 1 << 20
)

// Sources returns the sources that a text names: addresses with their titles in JSON
// members, Markdown links or lists of results, and files at the beginning of a line.
// Each address appears once, in the order of the text, at most 20 of them. Passwords in
// addresses are left out.
func Sources(text string) []tool.Source {
	if len(text) > sourceBytes {
		text = strings.ToValidUTF8(text[:sourceBytes], "")
	}
	var f finder
	if jsonscan.Looks(text) {
		f.json(strings.TrimSpace(text), 0)
	} else {
		f.lines(text)
	}
	return f.found
}

// A finder collects sources.
type finder struct {
	found []tool.Source
	seen  map[string]int // address → index in found
}

func (f *finder) full() bool { return len(f.found) >= maxSources }

// add adds a source, or the title of one that was added without.
func (f *finder) add(title, address string) {
	address = clean(address)
	if address == "" {
		return
	}
	title = snippet.ClipLine(strings.Trim(title, " \t*_#`\""), maxTitle)
	if i, ok := f.seen[address]; ok {
		f.found[i].Title = cmp.Or(f.found[i].Title, title)
		return
	}
	if !f.full() {
		if f.seen == nil { // most texts name none
			f.seen = map[string]int{}
		}
		f.seen[address] = len(f.found)
		f.found = append(f.found, tool.Source{Title: title, URL: address})
	}
}

// clean returns an address without user and password; "" for a long one.
func clean(address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxURL || strings.ContainsAny(address, "\n\r") {
		return ""
	}
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	if u.User != nil {
		u.User = nil
		return u.String()
	}
	return address
}

var (
	addressKeys = map[string]bool{"url": true, "link": true, "href": true, "uri": true, "source": true, "file": true, "file_path": true, "filepath": true, "path": true, "html_url": true}
	titleKeys   = map[string]bool{"title": true, "name": true, "heading": true, "headline": true}
)

// json walks over all objects; address and title are of the same object.
func (f *finder) json(value string, depth int) {
	const deep = 12
	if depth > deep || f.full() || value == "" {
		return
	}
	switch value[0] {
	case '[':
		for v := range jsonscan.Items(value) {
			f.json(v, depth+1)
		}
	case '{':
		title, address := "", ""
		for key, v := range jsonscan.Members(value) {
			if !strings.HasPrefix(v, `"`) {
				continue
			}
			switch key = strings.ToLower(key); {
			case address == "" && addressKeys[key] && likeAddress(jsonscan.Unquote(v)):
				address = jsonscan.Unquote(v)
			case title == "" && titleKeys[key]:
				title = jsonscan.Unquote(v)
			}
		}
		f.add(title, address)
		for _, v := range jsonscan.Members(value) {
			f.json(v, depth+1)
		}
	}
}

// likeAddress reports whether a string is a URL or a path.
func likeAddress(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") ||
		!strings.ContainsAny(s, " \n") && strings.ContainsAny(s, "/.") && len(s) > 2
}

var (
	titleLabels  = []string{"Title", "title", "标题", "題名"}
	sourceLabels = []string{"URL", "url", "Source", "source", "Link", "link", "来源", "链接", "地址", "出处"}
)

// labelled returns the text after one of labels and a colon.
func labelled(line string, labels []string) string {
	if strings.IndexByte("TtUuSsLl\xe6\xe9\xe5\xe4", line[0]) < 0 {
		return "" // no label begins so; most lines end here
	}
	for _, label := range labels {
		if rest, ok := strings.CutPrefix(line, label); ok {
			rest = strings.TrimLeft(rest, " ")
			if rest, ok = strings.CutPrefix(rest, ":"); !ok {
				rest, ok = strings.CutPrefix(rest, "：")
			}
			if ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	return ""
}

// listed returns the text after the number or the mark of a list item or a heading.
func listed(line string) string {
	if rest := strings.TrimLeft(line, "0123456789"); len(rest) < len(line) {
		for _, mark := range []string{".", ")", "、"} {
			if after, ok := strings.CutPrefix(rest, mark); ok {
				return strings.TrimSpace(after)
			}
		}
		return ""
	}
	if after, ok := strings.CutPrefix(line, "["); ok {
		rest := strings.TrimLeft(after, "0123456789")
		if after, ok = strings.CutPrefix(rest, "] "); ok {
			return strings.TrimSpace(after)
		}
		return ""
	}
	if rest := strings.TrimLeft(line, "-*#"); len(rest) < len(line) && strings.HasPrefix(rest, " ") {
		return strings.TrimSpace(rest)
	}
	return ""
}

// lines searches line by line. The title has a label, after the last blank line, or is
// a list item on the line before.
func (f *finder) lines(text string) {
	title, before := "", ""
	web := strings.Contains(text, "http")
	for line := range strings.Lines(text) {
		if f.full() {
			return
		}
		line = strings.TrimSpace(line)
		if line == "" {
			title, before = "", ""
			continue
		}
		label := labelled(line, sourceLabels)
		switch {
		case web && strings.Contains(line, "http") || likeAddress(label):
			if title == "" {
				title = listed(before)
			}
			if f.addresses(line, label, title) {
				title = ""
			}
		default:
			if t := labelled(line, titleLabels); t != "" {
				title = t
			} else if file := fileAt(line); file != "" {
				f.add("", file)
			}
		}
		before = line
	}
}

// addresses adds the addresses of one line, and reports whether it found any. label is
// the text after a label, if the line has one.
func (f *finder) addresses(line, label, title string) bool {
	found := false
	for at := 0; ; {
		i := strings.Index(line[at:], "http")
		if i < 0 {
			break
		}
		at += i
		address, length := addressAt(line[at:])
		if address != "" {
			name := cmp.Or(linkText(line[:at]), title)
			f.add(name, address)
			found = true
		}
		at += length
	}
	if !found && likeAddress(label) {
		f.add(title, label)
		found = true
	}
	return found
}

// linkText returns the text of a Markdown link whose address follows before.
func linkText(before string) string {
	inside, ok := strings.CutSuffix(before, "](")
	if !ok {
		return ""
	}
	inside = inside[max(0, len(inside)-4*maxTitle):]
	open := strings.LastIndexByte(inside, '[')
	if open < 0 {
		return ""
	}
	return inside[open+1:]
}

// addressAt returns the URL with which s begins, without the punctuation of the
// sentence around it, and the number of bytes to skip.
func addressAt(s string) (address string, length int) {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return "", len("http")
	}
	length = strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'<>`|\\^{}，。；：！？、（）【】《》「」“”", r)
	})
	if length < 0 {
		length = len(s)
	}
	if length > 2*maxURL { // too long to be shown, and to be trimmed step by step
		return "", length
	}
	address = s[:length]
	for address != "" {
		last := address[len(address)-1]
		if strings.IndexByte(".,;:!?*_", last) < 0 &&
			(last != ')' || strings.Count(address, "(") >= strings.Count(address, ")")) &&
			(last != ']' || strings.Count(address, "[") >= strings.Count(address, "]")) {
			break
		}
		address = address[:len(address)-1]
	}
	return address, length
}
