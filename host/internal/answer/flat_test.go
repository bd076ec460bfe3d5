package answer

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// same compares what is decoded in one step and in two.
func same(t *testing.T, raw []byte) {
	t.Helper()
	flat, isText := Flatten(nil, raw)
	if isText {
		if a, want := DecodeText(flat), DecodeMCP(raw, tool.En); a.Text != want.Text || a.Cut != want.Cut || !bytes.Equal(a.Raw, want.Raw) {
			t.Errorf("%.80q becomes %.80q", raw, flat)
		}
		return
	}
	if !IsFlat(flat) || len(flat) > MaxFlat {
		t.Fatalf("%.80q becomes %.80q", raw, flat)
	}
	want, got := DecodeMCP(raw, tool.Zh), DecodeFlat(flat, tool.Zh)
	for _, a := range []*Answer{&want, &got} {
		for i := range a.Parts {
			a.Parts[i].Data = slices.Concat(a.Parts[i].Data) // empty is nil
		}
		a.Structured = slices.Concat(a.Structured)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%.80q: %.300s, want %.300s", raw, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}

func TestFlatCarriesAnAnswer(t *testing.T) {
	long := strings.Repeat("x", tool.MaxWhole)
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"` + long + `y"}]}`,
		`{"content":[{"text":"` + long + `"},{"data":"AQ==","name":"late"},{"text":"y"}],"sources":[{"url":"u"}]}`,
		`{"content":[{"text":"a"}],"structuredContent":"` + strings.Repeat("\xff", 1000) + `"}`,
		textStart + `"` + strings.Repeat(`\u0007`, MaxMCP/6),
	} {
		same(t, []byte(raw))
	}
	for _, bad := range []string{"", "x", `{"content":[]}`, "\x00\x00\x00\x02\x09", "\x00\x00\x00\x02\x02\x00", "\x09\x00\x00\x00\x00", "\x00\x00\x00\xff\xff\xff\xff\x0f"} {
		if a := DecodeFlat([]byte(bad), tool.En); IsFlat([]byte(bad)) || a.Err == nil {
			t.Errorf("%q is read as %+v", bad, a)
		}
	}
	big := bytes.Repeat([]byte("1"), 1<<20)
	for name, d := range map[string]decoded{
		"many structured texts": {structured: big, pieces: slices.Repeat([]piece{{kind: structuredText}}, 10_000)},
		"many structured parts": {structured: big, pieces: slices.Repeat([]piece{{kind: structuredPart}}, 2)},
		"a refusal of no bytes": {err: &tool.Error{Code: tool.Denied, Msg: "x"}},
		"an endless size":       {size: 1 << 40, pieces: []piece{{text: "a"}}},
	} {
		if a := DecodeFlat(d.flat(nil), tool.En); a.Err == nil || a.Err.Code == tool.Denied {
			t.Errorf("%s: %.100s", name, a.Text)
		}
	}
	notJSON := decoded{structured: []byte(`{"a":`), pieces: []piece{{text: "a"}}}
	if a := DecodeFlat(notJSON.flat(nil), tool.En); a.Err == nil {
		t.Errorf("structured content that is no JSON is %+v", a)
	}
}

// FuzzFlat reads arbitrary bytes of a worker: little is allocated, no text is invalid,
// and what is read comes back. As the answer of a guest, they mean the same in two steps.
func FuzzFlat(f *testing.F) {
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"a"},{"data":"AQID","mimeType":"a/b","name":"n"}],"structuredContent":{"a":1},"isError":true}`,
		`{"sources":[{"title":"t","url":"u"}],"content":[{"type":"resource_link","uri":"u"}],"more":{"shown":1,"args":{"a":1},"lines":2},"error":{"code":"denied","message":"m","hint":"h"}}`,
		`{"structuredContent":[1]}`, "x",
	} {
		f.Add([]byte(raw))
		flat, _ := Flatten(nil, []byte(raw))
		f.Add(flat)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		same(t, b)
		d, ok := readFlat(b)
		a := DecodeFlat(b, tool.En)
		if !ok {
			if a.Err == nil {
				t.Fatalf("a form that is none is read as %+v", a)
			}
			return
		}
		if again, ok := readFlat(d.flat(nil)); !ok || !bytes.Equal(again.flat(nil), d.flat(nil)) {
			t.Fatalf("%q comes back as another form", b)
		}
		for _, p := range a.Parts {
			if !utf8.ValidString(p.Name + p.MIME) {
				t.Errorf("a part is named %q", p.Name)
			}
		}
		if !utf8.ValidString(a.Text) || len(a.Parts) > maxParts+1 || len(a.Sources) > maxSources+maxParts || a.Structured != nil && a.Err == nil && !utf8.Valid(a.Structured) {
			t.Errorf("%q is read as %+v", b, a)
		}
	})
}
