package limit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// Describe returns the line that represents a blob in a text: its name if it has
// one, its type, its size in bytes and the beginning of its SHA-256 digest.
func Describe(b tool.Blob) string {
	what := b.MIME
	if what == "" {
		what = "binary"
	}
	if b.Name != "" {
		what = b.Name + ": " + what
	}
	return descriptor(oneLine(what), b.Data)
}

func descriptor(what string, data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("[%s, %s bytes, sha256 %x]", what, thousands(len(data)), sum[:6])
}

// sample is how many bytes binaryKind examines.
const sample = 8 << 10

// binaryKind returns the kind of binary content, or "" for text. Normalised text
// has no control bytes and is never binary.
func binaryKind(raw []byte) string {
	nuls, strange := nonTextBytes(raw[:min(len(raw), sample)])
	if strange == 0 {
		return ""
	}
	if kind := magic(raw); kind != "" {
		return kind
	}
	if nuls > 0 && len(raw) >= 32 && strange*10 >= min(len(raw), sample) {
		return "data"
	}
	return ""
}

// nonTextBytes counts the bytes that text does not contain: NUL, other controls
// that terminals do not use, and bytes that are not UTF-8.
func nonTextBytes(b []byte) (nuls, strange int) {
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == 0:
				nuls++
				strange++
			case c < 0x07, c > 0x0f && c < 0x20 && c != 0x1b:
				strange++
			}
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 && utf8.FullRune(b[i:]) {
			strange++
		}
		i += size
	}
	return nuls, strange
}

// magic returns the kind of a file from its first bytes.
func magic(b []byte) string {
	for _, m := range [...]struct {
		at         int
		sign, kind string
	}{
		{0, "\x89PNG\r\n\x1a\n", "PNG image"},
		{0, "\xff\xd8\xff", "JPEG image"},
		{0, "GIF87a", "GIF image"},
		{0, "GIF89a", "GIF image"},
		{8, "WEBP", "WebP image"},
		{8, "WAVE", "WAV audio"},
		{8, "AVI ", "AVI video"},
		{4, "ftyp", "MP4 media"},
		{0, "II*\x00", "TIFF image"},
		{0, "MM\x00*", "TIFF image"},
		{0, "\x00\x00\x01\x00", "icon"},
		{0, "%PDF-", "PDF document"},
		{0, "PK\x03\x04", "ZIP archive or office document"},
		{0, "PK\x05\x06", "ZIP archive"},
		{0, "\x1f\x8b", "gzip data"},
		{0, "BZh", "bzip2 data"},
		{0, "\xfd7zXZ\x00", "xz data"},
		{0, "\x28\xb5\x2f\xfd", "zstd data"},
		{0, "7z\xbc\xaf\x27\x1c", "7-Zip archive"},
		{257, "ustar", "tar archive"},
		{0, "\x7fELF", "ELF binary"},
		{0, "MZ", "Windows binary"},
		{0, "\xcf\xfa\xed\xfe", "Mach-O binary"},
		{0, "\xca\xfe\xba\xbe", "Java class or Mach-O binary"},
		{0, "\x00asm", "WebAssembly module"},
		{0, "SQLite format 3\x00", "SQLite database"},
		{0, "\xd0\xcf\x11\xe0", "OLE document"},
		{0, "OggS", "Ogg media"},
		{0, "ID3", "MP3 audio"},
		{0, "fLaC", "FLAC audio"},
		{0, "\x1a\x45\xdf\xa3", "Matroska media"},
		{0, "wOFF", "font"},
		{0, "wOF2", "font"},
	} {
		if len(b) >= m.at && bytes.HasPrefix(b[m.at:], []byte(m.sign)) {
			return m.kind
		}
	}
	return ""
}
