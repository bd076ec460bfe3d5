package archives

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/image/webp"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/sdk/tool"
)

// part answers with one file of an archived result. A picture of a format that a browser
// draws without running anything keeps its type. All else, whatever the tool called it, is a
// download of octets.
func (a *Archives) part(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Host.Archive().Find(r.Context(), access.Principal(r), strings.ToLower(r.PathValue("uuid")))
	if err == nil {
		e, err = a.Host.Archive().Get(r.Context(), e.Scope, e.UUID)
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n >= len(e.Parts) {
		return archive.ErrNotFound
	}
	p := e.Parts[n]
	kind, disposition := "application/octet-stream", "attachment"
	if format := pictureFormat(p.Data); format != "" {
		kind, disposition = "image/"+format, "inline"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": partName(p, n)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+e.UUID+"-"+strconv.Itoa(n)+`"`) // a whole never changes
	http.ServeContent(w, r, "", e.Created, bytes.NewReader(p.Data))
	return nil
}

// maxPixels bounds what a browser is asked to draw: more is a download.
const maxPixels = 100_000_000

// pictureFormat returns "png", "jpeg", "gif" or "webp" if data begins as a picture of that
// format does, with a size that can be drawn, and otherwise nothing.
func pictureFormat(data []byte) string {
	for _, f := range []struct {
		name string
		size func(io.Reader) (image.Config, error)
	}{{"png", png.DecodeConfig}, {"jpeg", jpeg.DecodeConfig}, {"gif", gif.DecodeConfig}, {"webp", webp.DecodeConfig}} {
		size, err := f.size(bytes.NewReader(data))
		if err == nil && size.Width > 0 && size.Height > 0 && size.Width <= maxPixels/size.Height {
			return f.name
		}
	}
	return ""
}

// partName returns the name of a part's file: what the tool called it, without a path and
// without characters that no file's name has.
func partName(p tool.Blob, n int) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return -1
		}
		return r
	}, p.Name[strings.LastIndexAny(p.Name, `/\`)+1:])
	if name = strings.Trim(name, ". "); name == "" || len(name) > 120 {
		return "part-" + strconv.Itoa(n)
	}
	return name
}
