package limit

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/weirhost/weir/sdk/limit/internal/screen"
)

// Normalise converts the output of a tool into the text that weir counts, cuts,
// archives and quotes. It is idempotent.
//
//   - Binary content becomes one line with its kind, size and digest.
//   - UTF-16 with a byte order mark becomes UTF-8; a mark at the start is
//     dropped; each run of bytes that are not UTF-8 becomes U+FFFD.
//   - CRLF, vertical tab and form feed become a newline.
//   - Escape sequences go, and what they, a carriage return or a backspace
//     rewrite is shown as a terminal would show it in the end: the last state
//     of a progress bar. Clearing the screen clears nothing.
//   - BEL, SO and SI go; other control characters become their picture (NUL
//     becomes ␀), C1 controls U+FFFD. Tabs stay.
func Normalise(raw []byte) string { return NormaliseString(string(raw)) }

// NormaliseString is Normalise of a string. It returns a text that it does not change
// without a copy: the text may have 8 MiB.
func NormaliseString(s string) string {
	raw := unsafe.Slice(unsafe.StringData(s), len(s)) // nothing here changes it
	if utf8.Valid(raw) && clean(raw) {
		return s
	}
	if text, ok := fromUTF16(raw); ok {
		raw = text
	}
	if kind := binaryKind(raw); kind != "" {
		return descriptor("binary: "+kind, raw)
	}
	s = strings.ToValidUTF8(string(raw), string(utf8.RuneError))
	s = screen.Play(s)
	return strings.TrimLeft(s, byteOrderMark)
}

const byteOrderMark = "\ufeff"

// ones times a byte is a word in which each byte has that value.
const ones = 0x0101010101010101

// clean reports whether valid UTF-8 contains nothing that Normalise changes.
func clean(b []byte) bool {
	if bytes.HasPrefix(b, []byte(byteOrderMark)) {
		return false
	}
	i := 0
	for ; i+8 <= len(b); i += 8 {
		// Each term has a high bit where a byte may be under 0x20, DEL, or the
		// lead of a C1 control. A false positive costs only a slower check.
		w := binary.LittleEndian.Uint64(b[i:])
		del, lead := w^(0x7f*ones), w^(0xc2*ones)
		if ((w-0x20*ones)&^w|(del-ones)&^del|(lead-ones)&^lead)&highBits == 0 {
			continue
		}
		for j := range 8 {
			if screen.Special(b, i+j) {
				return false
			}
		}
	}
	for ; i < len(b); i++ {
		if screen.Special(b, i) {
			return false
		}
	}
	return true
}

// fromUTF16 decodes UTF-16 that begins with a byte order mark.
func fromUTF16(raw []byte) ([]byte, bool) {
	var order binary.ByteOrder
	switch {
	case len(raw) < 4 || len(raw)%2 != 0:
		return nil, false
	case raw[0] == 0xff && raw[1] == 0xfe:
		order = binary.LittleEndian
	case raw[0] == 0xfe && raw[1] == 0xff:
		order = binary.BigEndian
	default:
		return nil, false
	}
	units := make([]uint16, 0, len(raw)/2)
	for i := 2; i < len(raw); i += 2 {
		units = append(units, order.Uint16(raw[i:]))
	}
	return []byte(string(utf16.Decode(units))), true
}
