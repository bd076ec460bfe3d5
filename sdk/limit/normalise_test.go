package limit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func TestNormalise(t *testing.T) {
	for _, tc := range []struct{ in, want, why string }{
		{"plain\ttext\n漢字 " + family, "plain\ttext\n漢字 " + family, "nothing to do"},
		{"a\r\nb\r\r\nc", "a\nb\nc", "line ends of Windows, and of a terminal on Windows"},
		{"\x1b[1;31mred\x1b[0m text", "red text", "colours"},
		{"\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x07 text", "link text", "hyperlinks, both terminators"},
		{"\x1b]0;title never ends\nnext", "␛]0;title never ends\nnext", "an unended sequence hides nothing"},
		{"\x1bPsixel\ndata\x1b\\after", "after", "a device control string"},
		{"\x1bPnever ends", "␛Pnever ends", "nor does an unended one"},
		{"\x1b(Bplain\x0f", "plain", "character sets"},
		{"lone \x1b", "lone ␛", "an escape alone"},
		{"10%\r50%\r100%\n", "100%\n", "a progress bar"},
		{"Loading...\rDone", "Doneing...", "what is not written over stays, as on a terminal"},
		{"Loading...\r\x1b[KDone\n", "Done\n", "unless it is erased"},
		{"Loading...\x1b[2K\rDone", "Done", "erased as a whole"},
		{"abcdef\x1b[3D\x1b[1KX", "   Xef", "erased to the left"},
		{"bar \x1b[10Gat ten", "bar      at ten", "to a column"},
		{"ab\x1b[2C|", "ab  |", "to the right"},
		{"b\bbo\bol\bld", "bold", "overstriking, as manual pages do"},
		{"abc\b\b\bx", "xbc", "backspace moves only"},
		{"one 10%\ntwo 10%\n\x1b[2Aone 99%\ntwo 99%\nend\n", "one 99%\ntwo 99%\nend\n", "two bars drawn again"},
		{"one\ntwo\x1b[1A\r\x1b[Jnew\n", "new\n", "drawn again after clearing below"},
		{"kept\x1b[2J\x1b[Hnew", "keptnew", "clearing the screen loses nothing"},
		{"下载中 10%\r下载中 20%", "下载中 20%", "wide characters"},
		{"abcd\r你", "你cd", "a wide character covers two columns"},
		{"你好\rx", "x 好", "and leaves a blank where half of it goes"},
		{"e\u0301\rX", "X", "marks go with their letter"},
		{"a\tb\rX", "X       b", "a tab is its columns once written over"},
		{"bad \xff\xfe byte", "bad \ufffd byte", "a run that is not UTF-8"},
		{"a\x00b\x01\x7f", "a␀b␁␡", "controls are shown"},
		{"ding\a", "ding", "the bell is not"},
		{"x\u009b31my", "x\ufffd31my", "C1 controls"},
		{"a\vb\fc", "a\nb\nc", "old line ends"},
		{"\ufeff\ufefftext", "text", "byte order marks"},
		{"\xff\xfeh\x00i\x00-N", "hi\u4e2d", "UTF-16, little end first"},
		{"\xfe\xff\x00h\x00i", "hi", "and big end first"},
		{"%PDF-1.7 is how PDF begins", "%PDF-1.7 is how PDF begins", "text is no document"},
		{"", "", "nothing"},
	} {
		if got := limit.Normalise([]byte(tc.in)); got != tc.want {
			t.Errorf("%s: %q becomes %q, want %q", tc.why, tc.in, got, tc.want)
		}
	}
}

func TestNormaliseDescribesBinaryContent(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), make([]byte, 2000)...)
	for _, tc := range []struct {
		in   string
		want string
	}{
		{string(png), "[binary: PNG image, 2,016 bytes, sha256 "},
		{"\xff\xd8\xff\xe0", "[binary: JPEG image, 4 bytes, sha256 "},
		{"\x00asm\x01\x00\x00\x00", "[binary: WebAssembly module, 8 bytes, sha256 93a44bbb96c7]"},
		{"PK\x03\x04" + strings.Repeat("x", 99), "[binary: ZIP archive or office document, 103 bytes, sha256 "},
		{"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "[binary: PDF document, 15 bytes, sha256 "},
		{strings.Repeat("\x00", 100_000), "[binary: data, 100,000 bytes, sha256 "},
		{strings.Repeat("\x00\x01ab", 100), "[binary: data, 400 bytes, sha256 "},
	} {
		got := limit.Normalise([]byte(tc.in))
		if !strings.HasPrefix(got, tc.want) || strings.Contains(got, "\n") {
			t.Errorf("%.12q is %q, want %s", tc.in, got, tc.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		blob tool.Blob
		want string
	}{
		{tool.Blob{Name: "plot.png", MIME: "image/png", Data: []byte("x")}, "[plot.png: image/png, 1 bytes, sha256 2d711642b726]"},
		{tool.Blob{}, "[binary, 0 bytes, sha256 e3b0c44298fc]"},
		{tool.Blob{Name: "a\n<tool_call>", MIME: "x"}, "[a ＜tool_call>: x, 0 bytes, sha256 e3b0c44298fc]"}, // a name is the tool's word
	} {
		if got := limit.Describe(tc.blob); got != tc.want {
			t.Errorf("%+v is %s, want %s", tc.blob, got, tc.want)
		}
	}
}

func lawsOfNormalise(t fataler, raw []byte) {
	t.Helper()
	s := limit.Normalise(raw)
	if again := limit.Normalise([]byte(s)); again != s {
		t.Fatalf("%q becomes %q, and that %q", raw, s, again)
	}
	if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r\b\a\v\f\x7f") {
		t.Fatalf("%q becomes %q", raw, s)
	}
	if len(s) > 20*len(raw)+1<<17 {
		t.Fatalf("%d bytes become %d", len(raw), len(s))
	}
}

// anyRaw draws what terminals receive.
func anyRaw() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom([]string{
		"\r", "\n", "\r\n", "\b", "\t", "\x1b[K", "\x1b[1K", "\x1b[2A", "\x1b[99999999C", "\x1b[3D", "\x1b[5G", "\x1b[J", "\x1b[1;31m", "\x1b[?25l",
		"\x1b]0;t\a", "\x1b]", "\x1bP", "\x1b\\", "\x1b", "\x00", "\xff", "\xc2", "\u0085", "\ufeff", family, flagDE, "漢", accent, "100% done", "%PDF-", "GIF89a",
	}), rapid.StringN(0, 8, -1))
	return rapid.Map(rapid.SliceOfN(piece, 0, 60), func(s []string) string { return strings.Join(s, "") })
}

func TestNormaliseKeepsItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { lawsOfNormalise(t, []byte(anyRaw().Draw(t, "raw"))) })
	for _, s := range corpora() {
		if limit.Normalise([]byte(s)) != s {
			t.Errorf("a normalised text is changed: %.40q", s)
		}
	}
	bars := strings.Repeat("\x1b[2K\r\x1b[32m################\x1b[0m 57%", 20_000)
	if got := limit.Normalise([]byte(bars)); got != "################ 57%" {
		t.Errorf("20,000 states of a bar leave %d bytes", len(got))
	}
}

// The cost of escape sequences is bounded, whatever their parameters.
func TestNormaliseStaysSmall(t *testing.T) {
	for _, s := range []string{"\x1b[9999999Cx\n", "x\x1b[4000Gy\x1b[1K", "\x1b[99A\x1b[J\n", "a\x1b[1A\x1b[500C"} {
		lawsOfNormalise(t, []byte(strings.Repeat(s, 3000)))
	}
}

func TestNormaliseAProgramsOutput(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "build.ansi"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "build.txt", limit.Normalise(raw))
}

func FuzzNormalise(f *testing.F) {
	f.Add([]byte("a\r\x1b[Kb\n\x1b[1Ac"))
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00"))
	f.Add(bytes.Repeat([]byte("\x1b[2K\r50%"), 40))
	f.Fuzz(func(t *testing.T, raw []byte) { lawsOfNormalise(t, raw) })
}
