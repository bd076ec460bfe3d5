package archives

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// pageChars is the longest part that one answer of showArchive holds, in characters.
const pageChars = 200_000

func (a *Archives) showArchive(w http.ResponseWriter, r *http.Request) error {
	args := map[string]string{"uuid": r.PathValue("uuid")}
	for _, key := range []string{"lines", "grep", "context", "pointer", "head", "tail", "offset"} {
		if v := r.URL.Query().Get(key); v != "" {
			args[key] = v
		}
	}
	clip, err := params.Int(r, "clip", 0)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	id, part, err := archive.ParsePart(raw)
	if err != nil {
		return err
	}
	entry, err := a.Host.Archive().Find(r.Context(), access.Principal(r), id)
	if err != nil {
		return err
	}
	// A named conversation reads what it may load, and nothing else.
	if c := r.URL.Query().Get("conversation_id"); c != "" {
		entry.Scope.Conversation = c
	}
	page, err := a.Host.Archive().Peek(r.Context(), entry.Scope, id, part)
	if err != nil {
		return err
	}
	out := api.ArchivePage{ArchiveRow: api.ArchiveRowOf(page.Entry), Selected: page.Chars, Matches: page.Matches}
	if clip > 0 {
		out.Text, out.Clipped, out.Next = clipped(page.Text, clip)
	} else {
		out.Text, out.Next = firstPage(page.Text)
	}
	if out.Next > 0 {
		out.Next += part.Offset
	}
	if out.Shown, err = a.shown(r, page.Entry); err != nil {
		return err
	}
	return httpjson.Answer(w, out)
}

// firstPage returns the beginning of a text, and how many characters it has if that is
// less than all.
func firstPage(text string) (page string, next int) {
	view := limit.Apply(text, tool.Limits{MaxChars: pageChars, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerLoad})
	if view.Cut() {
		next, _ = limit.Count(view.Text)
	}
	return view.Text, next
}

// clipped returns the first lines of a text, each with at most clip characters, and how
// many characters of the text that covers if it is less than all.
func clipped(text string, clip int) (page string, long []api.ClippedLine, next int) {
	var b strings.Builder
	room, used := pageChars, 0
	for n := 1; text != "" && room > 0; n++ {
		line, rest, ended := strings.Cut(text, "\n")
		chars := utf8.RuneCountInString(line)
		most := min(clip, chars)
		if most > room && n > 1 {
			break
		}
		if most = min(most, room); chars > most {
			line = string([]rune(line[:min(len(line), most*utf8.UTFMax)])[:most])
			long = append(long, api.ClippedLine{Line: n, Chars: chars})
		}
		b.WriteString(line)
		if room, used = room-most, used+chars; ended {
			b.WriteByte('\n')
			room, used = room-1, used+1
		}
		text = rest
	}
	if text != "" {
		next = used
	}
	return b.String(), long, next
}

// shown returns what the model was shown of an archived result; nil: no call is known.
func (a *Archives) shown(r *http.Request, e archive.Entry) (*api.ShownPart, error) {
	c, err := a.Call(r.Context(), access.Principal(r), e.UUID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	part := api.ShownPartOf(c, e.Lines)
	return &part, nil
}

// whole returns an archived result of the requester's with its whole text, when it may be
// worked on, with expressions of so many instructions. The caller must call done, unless
// there is an error.
func (a *Archives) whole(r *http.Request, uuid string, steps int) (page archive.Page, done func(), err error) {
	uuid = strings.ToLower(uuid)
	e, err := a.Host.Archive().Find(r.Context(), access.Principal(r), uuid)
	if err != nil {
		return page, nil, err
	}
	if done, err = a.alone(r.Context(), e.Chars, steps*e.Chars); err != nil {
		return page, nil, err
	}
	if page, err = a.Host.Archive().Peek(r.Context(), e.Scope, uuid, archive.Part{}); err != nil {
		done()
	}
	return page, done, err
}

// raw answers with the whole text as a file to download.
func (a *Archives) raw(w http.ResponseWriter, r *http.Request) error {
	page, done, err := a.whole(r, r.PathValue("uuid"), 0)
	if err != nil {
		return err
	}
	done() // how long a client reads is its own affair
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(page.Entry)}))
	h.Set("ETag", `"`+page.Entry.UUID+`"`) // a whole never changes
	http.ServeContent(w, r, "", page.Entry.Created, strings.NewReader(page.Text))
	return nil
}

// fileName returns the name of the file of an archived result.
func fileName(e archive.Entry) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, e.Tool)
	return name[:min(len(name), 40)] + "-" + e.UUID + ".txt"
}
