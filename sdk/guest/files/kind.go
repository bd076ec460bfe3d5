package files

import (
	"bytes"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// SniffBytes is how much of a file's beginning Binary needs.
const SniffBytes = 8192

// Binary names what kind of bytes a file's beginning shows, for example "a
// PNG image"; it is empty for text. UTF-16 with a byte order mark is text.
func Binary(head []byte) string { return Kind(head).String() }

// Kind is Binary in both languages; the zero Text is for text.
func Kind(head []byte) tool.Text {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return tool.Text{Format: m.kind, Zh: m.zh}
		}
	}
	if _, ok := utf16Order(head); ok {
		return tool.Text{}
	}
	if bytes.IndexByte(head, 0) >= 0 || mostlyControl(head) {
		return tool.Text{Format: "binary data", Zh: "二进制数据"}
	}
	return tool.Text{}
}

// mostlyControl reports whether more than a tenth of the beginning is neither
// text of an 8-bit encoding nor white space.
func mostlyControl(head []byte) bool {
	odd := 0
	for _, b := range head {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1b {
			odd++
		}
	}
	return odd*10 > len(head)
}

// Text returns a file's bytes as UTF-8: UTF-16 with a byte order mark is
// decoded, a UTF-8 mark is dropped, all else stays as it is.
func Text(b []byte) []byte {
	order, ok := utf16Order(b)
	if !ok {
		return bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	out := make([]byte, 0, len(b))
	var high rune
	for i := 2; i+1 < len(b); i += 2 {
		u := rune(b[i+order])<<8 | rune(b[i+1-order])
		switch {
		case u >= 0xd800 && u < 0xdc00:
			high = u
			continue
		case u >= 0xdc00 && u < 0xe000 && high != 0:
			u = (high-0xd800)<<10 + (u - 0xdc00) + 0x10000
		}
		high = 0
		out = utf8.AppendRune(out, u)
	}
	return out
}

// utf16Order gives the place of the high byte in each pair, by the mark.
func utf16Order(b []byte) (int, bool) {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return 1, true
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return 0, true
	}
	return 0, false
}

// magics are beginnings of common formats. It is never written to.
var magics = []struct{ prefix, kind, zh string }{
	{"\x89PNG\r\n", "a PNG image", "PNG 图片"},
	{"\xff\xd8\xff", "a JPEG image", "JPEG 图片"},
	{"GIF8", "a GIF image", "GIF 图片"},
	{"%PDF-", "a PDF document", "PDF 文档"},
	{"PK\x03\x04", "a ZIP archive or office document", "ZIP 压缩包或 Office 文档"},
	{"\x1f\x8b", "gzip-compressed data", "gzip 压缩数据"},
	{"\x28\xb5\x2f\xfd", "Zstandard-compressed data", "Zstandard 压缩数据"},
	{"BZh", "bzip2-compressed data", "bzip2 压缩数据"},
	{"\x7fELF", "an ELF program", "ELF 程序"},
	{"\x00asm", "a WebAssembly module", "WebAssembly 模块"},
	{"SQLite format 3\x00", "an SQLite database", "SQLite 数据库"},
	{"\xd0\xcf\x11\xe0", "an old office document", "旧版 Office 文档"},
	{"OggS", "an Ogg recording", "Ogg 音频"},
	{"ID3", "an MP3 recording", "MP3 音频"},
}
