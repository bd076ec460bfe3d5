package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

type none struct{}

// returns makes a tool that answers r and err.
func returns(r Result, err error) Func[none] {
	return func(*Call, none) (Result, error) { return r, err }
}

func TestOutputIsAnMCPResult(t *testing.T) {
	for _, tt := range []struct {
		r    Result
		err  error
		want string
		why  string
	}{
		{Text("a < b && c"), nil, `{"content":[{"type":"text","text":"a < b && c"}],"isError":false}`, "code is not escaped for web pages"},
		{Result{}, nil, `{"content":[{"type":"text","text":""}],"isError":false}`, "an empty text is there, as a text"},
		{
			Result{Text: "x", Sources: []tool.Source{{Title: "T", URL: "u"}}, More: &tool.More{Shown: 1, Total: 9, Args: json.RawMessage(`{"offset":1}`)}}, nil,
			`{"content":[{"type":"text","text":"x"}],"sources":[{"title":"T","url":"u"}],"more":{"shown":1,"total":9,"args":{"offset":1}},"isError":false}`,
			"sources and more",
		},
		{
			Result{Text: "lost"}, Errorf(tool.Denied, "Ask.", "No %s.", "way"),
			`{"content":[{"type":"text","text":"No way."}],"isError":true,"error":{"code":"denied","message":"No way.","hint":"Ask."}}`,
			"an error is the whole answer",
		},
		{
			Result{}, fmt.Errorf("reading: %w", Errorf(tool.TimedOut, "", "Late.")),
			`{"content":[{"type":"text","text":"Late."}],"isError":true,"error":{"code":"timed_out","message":"Late."}}`,
			"a wrapped error keeps its code",
		},
		{
			Result{}, errors.New("odd"),
			`{"content":[{"type":"text","text":"odd"}],"isError":true,"error":{"code":"failed","message":"odd"}}`,
			"any other error has failed",
		},
		{
			Result{Text: "p", Parts: []tool.Blob{{Name: "n", MIME: "image/png", Data: []byte{1}}, {Name: "d", MIME: "application/pdf", Data: []byte{2}}}}, nil,
			`{"content":[{"type":"text","text":"p"},{"type":"image","data":"AQ==","mimeType":"image/png","name":"n"},` +
				`{"type":"resource","resource":{"uri":"part:d","mimeType":"application/pdf","blob":"Ag=="}}],"isError":false}`,
			"pictures, and bytes of other kinds",
		},
	} {
		out, _ := Invoke(returns(tt.r, tt.err), "", Options{})
		if string(out.Raw) != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.why, out.Raw, tt.want)
		}
	}
}

func TestOutputThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		r    Result
		code tool.Code
		why  string
	}{
		{Result{Text: "x", More: &tool.More{Args: json.RawMessage(`{"a":`)}}, tool.Failed, "arguments that are no JSON"},
	} {
		_, err := Invoke(returns(tt.r, nil), "{}", Options{})
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tt.code {
			t.Errorf("%s: got %v", tt.why, err)
		}
	}
	// The host keeps 8 MiB of a text; one byte more shows that there is more.
	out, err := Invoke(returns(Text(strings.Repeat("x", 2*tool.MaxWhole)), nil), "{}", Options{})
	if err != nil || len(out.Result.Text) != tool.MaxWhole+1 {
		t.Errorf("%d bytes of 16 MiB, %v", len(out.Result.Text), err)
	}
}

// TestRoundTrip is the law of the wire form: what a tool returned is what the
// host reads, invalid UTF-8 excepted.
func TestRoundTrip(t *testing.T) {
	source := rapid.Custom(func(t *rapid.T) tool.Source {
		return tool.Source{Title: rapid.String().Draw(t, "title"), URL: rapid.String().Draw(t, "url")}
	})
	part := rapid.Custom(func(t *rapid.T) tool.Blob {
		return tool.Blob{
			Name: rapid.String().Draw(t, "name"),
			MIME: rapid.SampledFrom([]string{"image/png", "audio/ogg", "application/pdf"}).Draw(t, "mime"),
			Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := Result{
			Text:    rapid.String().Draw(t, "text"),
			Sources: rapid.SliceOf(source).Draw(t, "sources"),
			Parts:   rapid.SliceOf(part).Draw(t, "parts"),
		}
		out, err := Invoke(returns(want, nil), "", Options{})
		if d := cmp.Diff(want, out.Result, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("%v %s", err, d)
		}
	})
	out, _ := Invoke(returns(Text("a\xffb"), nil), "", Options{})
	if out.Text != "a\ufffdb" || !utf8.Valid(out.Raw) {
		t.Errorf("invalid UTF-8 gives %q", out.Text)
	}
}

func TestCallReadsItsHost(t *testing.T) {
	type seen struct {
		Chars, Lines, Context int
		Setting, Said         string
		Set                   bool
	}
	look := func(c *Call, _ none) (Result, error) {
		s := seen{Chars: c.MaxChars(), Lines: c.MaxLines(), Context: c.ConfigInt("n", 2), Said: c.Say("yes", "是")}
		s.Setting, s.Set = c.Config("s")
		b, err := json.Marshal(s)
		return Text(string(b)), err
	}
	for _, tt := range []struct {
		o    Options
		want seen
		why  string
	}{
		{Options{}, seen{8000, 500, 2, "", "yes", false}, "the defaults"},
		{Options{Limits: tool.Limits{MaxChars: 900, MaxLines: 20}}, seen{900, 20, 2, "", "yes", false}, "the host's limits"},
		{Options{Config: map[string]string{keyMaxChars: "0", keyMaxLines: "-3"}}, seen{8000, 500, 2, "", "yes", false}, "limits that say nothing"},
		{Options{Config: map[string]string{"n": "5", "s": "on"}, Locale: tool.Zh}, seen{8000, 500, 5, "on", "是", true}, "settings and language"},
		{Options{Config: map[string]string{"n": "many", keyMaxChars: "x"}, Locale: "fr"}, seen{8000, 500, 2, "", "yes", false}, "a setting that is no number, a language that is unknown"},
	} {
		out, err := Invoke(look, "{}", tt.o)
		var got seen
		if err == nil {
			err = json.Unmarshal([]byte(out.Text), &got)
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v", tt.why, got, err)
		}
	}
}

func TestSideMessages(t *testing.T) {
	out, err := Invoke(func(c *Call, _ none) (Result, error) {
		c.Progress(1, 3, "一")
		c.Log(Warn, "careful")
		c.Progress(3, 3, "")
		return Text("done"), nil
	}, "{}", Options{})
	want := []Progress{{1, 3, "一"}, {3, 3, ""}}
	if d := cmp.Diff(want, out.Progress); err != nil || d != "" || len(out.Logs) != 1 || out.Logs[0] != "careful" {
		t.Errorf("%v %v %s", err, out.Logs, d)
	}
}

func TestFS(t *testing.T) {
	read := func(c *Call, _ none) (Result, error) {
		b, err := fs.ReadFile(c.FS("/workspace"), "a.txt")
		return Text(string(b)), err
	}
	granted := Options{FS: map[string]fs.FS{"/workspace": fstest.MapFS{"a.txt": {Data: []byte("hello")}}}}
	if out, err := Invoke(read, "{}", granted); err != nil || out.Text != "hello" {
		t.Errorf("granted: %q %v", out.Text, err)
	}
	if _, err := Invoke(read, "{}", Options{}); err == nil {
		t.Error("a folder that was not granted can be read")
	}
}

func TestHTTP(t *testing.T) {
	get := func(c *Call, _ none) (Result, error) {
		resp, err := c.HTTP(Request{URL: "https://example.com/?q=é", Headers: map[string]string{"A": "b"}, Body: []byte{0, 255}})
		return Text(fmt.Sprint(resp.Status, " ", resp.URL, " ", resp.Header("x-kind"), resp.Header("none"), " ", string(resp.Body))), err
	}
	answer := func(r Request) (Response, error) {
		if d := cmp.Diff(Request{Method: "GET", URL: "https://example.com/?q=é", Headers: map[string]string{"A": "b"}, Body: []byte{0, 255}}, r); d != "" {
			t.Error(d)
		}
		return Response{Status: 404, URL: "https://example.org", Headers: map[string]string{"X-Kind": "k"}, Body: []byte("body")}, nil
	}
	if out, err := Invoke(get, "", Options{HTTP: answer}); err != nil || out.Text != "404 https://example.org k body" {
		t.Errorf("%q %v", out.Text, err)
	}
	for _, tt := range []struct {
		http func(Request) (Response, error)
		code tool.Code
		why  string
	}{
		{nil, tool.Denied, "no network is granted"},
		{func(Request) (Response, error) { return Response{}, Errorf(tool.TimedOut, "", "Late.") }, tool.TimedOut, "the host's code arrives"},
		{func(Request) (Response, error) { return Response{}, errors.New("reset") }, tool.Failed, "any other failure"},
	} {
		_, err := Invoke(get, "", Options{HTTP: tt.http})
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tt.code {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}

// TestDeliver: a host without memory for the answer never sees an empty one.
func TestDeliver(t *testing.T) {
	answer := encode(Text(strings.Repeat("x", 1000)), nil)
	for _, tt := range []struct {
		room int
		code int32
		out  string
		says string
		why  string
	}{
		{2000, 0, string(answer), "", "there is room"},
		{300, 0, `{"content":[{"type":"text","text":"The result of 1055 bytes does not fit the memory of the call."}],"isError":true,` +
			`"error":{"code":"too_large","message":"The result of 1055 bytes does not fit the memory of the call.","hint":"Ask for a smaller part."}}`,
			"", "only for a shorter answer"},
		{10, 1, "", "too_large: a result of 1055 bytes", "for no answer"},
	} {
		var out, says string
		code := (&Call{env: &native{}}).deliver(answer, func(b []byte) bool {
			if len(b) > tt.room {
				return false
			}
			out = string(b)
			return true
		}, func(s string) { says = s })
		if code != tt.code || out != tt.out || says != tt.says {
			t.Errorf("%s: %d, %.300q, %q", tt.why, code, out, says)
		}
	}
}

func TestRunOutsideAGuest(t *testing.T) {
	if code := Run(returns(Text("x"), nil)); code != 1 {
		t.Errorf("Run gives %d where there is no host", code)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 52000: "52,000", 1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000", 100000: "100,000"} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

func ExampleInvoke() {
	greet := func(c *Call, in struct {
		Name string `json:"name"`
	}) (Result, error) {
		if in.Name == "" {
			return Result{}, Errorf(tool.BadArgs, "Give a name.", "Argument \"name\" is empty.").
				Zh("请给出姓名。", "参数 \"name\" 为空。")
		}
		return Text(c.Say("Hello ", "你好，") + in.Name), nil
	}
	out, _ := Invoke(greet, `{"name": "Li"}`, Options{Locale: tool.Zh})
	fmt.Println(out.Text)
	_, err := Invoke(greet, `{}`, Options{})
	fmt.Println(err)
	_, err = Invoke(greet, `{}`, Options{Locale: tool.Zh})
	fmt.Println(err)
	// Output:
	// 你好，Li
	// bad_args: Argument "name" is empty. (Give a name.)
	// bad_args: 参数 "name" 为空。 (请给出姓名。)
}

// TestEncodeIsJSON holds the answers that are written by hand to encoding/json.
func TestEncodeIsJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "plain", "\"\\\b\f\n\r\t\x00\x1f\x7f", "<&>\u2028\u2029", "\xff\xc3(", "你好 🌍\ufffd"}))
	sources := rapid.SliceOf(rapid.Custom(func(t *rapid.T) tool.Source {
		return tool.Source{Title: text.Draw(t, "title"), URL: text.Draw(t, "URL")}
	}))
	rapid.Check(t, func(t *rapid.T) {
		r := Result{Text: text.Draw(t, "text"), Sources: sources.Draw(t, "sources")}
		if rapid.Bool().Draw(t, "stops early") {
			r.More = &tool.More{Shown: 1, Total: 2, Args: json.RawMessage(`{"offset":1}`)}
		}
		w := wire{Content: []part{{Type: "text", Text: &r.Text}}, Sources: r.Sources, More: r.More}
		var err error
		if rapid.Bool().Draw(t, "fails") {
			e := &tool.Error{Code: tool.Code(text.Draw(t, "code")), Msg: text.Draw(t, "message"), Hint: text.Draw(t, "hint")}
			w, err = wire{Content: []part{{Type: "text", Text: &e.Msg}}, IsError: true, Error: e}, e
		}
		want, fault := marshal(w)
		if got := encode(r, err); fault != nil || string(got) != string(want) {
			t.Fatalf("%s\nwant %s, %v", got, want, fault)
		}
	})
}

func TestReady(t *testing.T) {
	if !Ready(func(*Call, struct{ A []map[string]int }) (Result, error) { panic("it is not called") }) {
		t.Error("an empty object is refused")
	}
}

// TestFailuresInChinese: a failure is in the language of the conversation where it
// has a wording in it, with the arguments in that language and in its order.
func TestFailuresInChinese(t *testing.T) {
	kind := tool.Text{Format: "a picture", Zh: "图片"}
	for _, tt := range []struct {
		err    error
		en, zh string
	}{
		{Errorf(tool.Failed, "Stop.", "%q is %s.", "a.png", kind).Zh("请停止。", "%[2]s %[1]q。"), `failed: "a.png" is a picture. (Stop.)`, `failed: 图片 "a.png"。 (请停止。)`},
		{Errorf(tool.Failed, "Stop.", "It is %s.", kind), "failed: It is a picture. (Stop.)", "failed: It is a picture. (Stop.)"},
		{Errorf(tool.Failed, "", "All of it.").Zh("", "它的 100%。"), "failed: All of it.", "failed: 它的 100%。"},
		{fmt.Errorf("reading: %w", Errorf(tool.Denied, "", "No.").Zh("", "不行。")), "denied: No.", "denied: 不行。"},
		{errors.New("reset"), "failed: reset", "failed: reset"},
	} {
		for l, want := range map[tool.Locale]string{tool.En: tt.en, tool.Zh: tt.zh} {
			if _, err := Invoke(returns(Result{}, tt.err), "{}", Options{Locale: l}); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", l, err, want)
			}
		}
	}
	want := `bad_args: 参数 "n" 必须是整数，而不是 string。 (请将 "n" 写成整数。)`
	number := func(*Call, struct {
		N int `json:"n"`
	}) (Result, error) {
		return Result{}, nil
	}
	if _, err := Invoke(number, `{"n":"x"}`, Options{Locale: tool.Zh}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
