package msg

import (
	"errors"
	"strings"
	"testing"
)

// An untrusted process may send anything; what is accepted is bounded and clean.
func TestAnInvalidWireIsRefused(t *testing.T) {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < 32 {
				return -1
			}
			return r
		}, s)
	}
	deep := Wire{Format: "%s", Args: []Wire{{Word: "end"}}}
	for range maxDepth {
		deep = Wire{Format: "%s", Args: []Wire{deep}}
	}
	for name, m := range map[string]Wire{
		"nested too deeply":       deep,
		"an argument too many":    {Format: "%s", Args: []Wire{{Word: "a"}, {Word: "b"}}},
		"an argument too few":     {Format: "%s %s", Args: []Wire{{Word: "a"}}},
		"an argument shown often": {Format: strings.Repeat("%[1]s", 9) + "%s", Args: []Wire{{Word: "a"}}},
		"a width as an argument":  {Format: "%*d %s", Args: []Wire{{Word: "a"}}},
	} {
		if text, err := m.Text(clean); !errors.Is(err, ErrWire) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	text, err := Wire{Format: "\x1b%900000d", Args: []Wire{{Word: "\x07red"}}}.Text(clean)
	if got, want := text.String(), "red"; err != nil || strings.TrimSpace(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
