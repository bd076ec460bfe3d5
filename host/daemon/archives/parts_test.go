package archives

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

func encoded(t *testing.T, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a browser would run is no picture, whatever its name, its type and its first bytes.
func TestPictureFormat(t *testing.T) {
	pngFile := encoded(t, func(b *bytes.Buffer, i image.Image) error { return png.Encode(b, i) })
	huge := bytes.Clone(pngFile)
	copy(huge[16:24], []byte{0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50}) // 50,000 × 50,000
	webp := []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x02\x40\x00\x00\x07\x50\x8d\xfe\x07\x22\xfa\x1f\x00")
	for name, row := range map[string]struct {
		data []byte
		want string
	}{
		"png":             {pngFile, "png"},
		"jpeg":            {encoded(t, func(b *bytes.Buffer, i image.Image) error { return jpeg.Encode(b, i, nil) }), "jpeg"},
		"gif":             {encoded(t, func(b *bytes.Buffer, i image.Image) error { return gif.Encode(b, i, nil) }), "gif"},
		"webp":            {webp, "webp"},
		"svg":             {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), ""},
		"html":            {[]byte("<!doctype html><script>alert(1)</script>"), ""},
		"first bytes":     {[]byte("\x89PNG\r\n\x1a\n<script>alert(1)</script>"), ""},
		"truncated":       {pngFile[:20], ""},
		"too many pixels": {huge, ""},
		"pdf":             {[]byte("%PDF-1.7\n"), ""},
		"empty":           {nil, ""},
	} {
		if got := pictureFormat(row.data); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestPartName(t *testing.T) {
	for name, want := range map[string]string{
		"picture.png": "picture.png", "图片.png": "图片.png", "": "part-3", "../../etc/passwd": "passwd", `C:\x\y.png`: "y.png",
		".bashrc": "bashrc", "a\r\nSet-Cookie: x": "aSet-Cookie x", "...": "part-3",
	} {
		if got := partName(tool.Blob{Name: name}, 3); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
