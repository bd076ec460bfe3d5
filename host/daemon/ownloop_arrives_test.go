package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A sentMember is one member of a body: its name and value as they were written.
type sentMember struct{ name, value string }

// sentMembers cuts a JSON object into its members.
func sentMembers(body string) ([]sentMember, error) {
	d := json.NewDecoder(strings.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("no object: %v", err)
	}
	var out []sentMember
	for from := d.InputOffset(); d.More(); from = d.InputOffset() {
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		m := sentMember{name: strings.Trim(body[from:d.InputOffset()], " \t\r\n,")}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		m.value = string(v)
		out = append(out, m)
	}
	return out, nil
}

// arrives returns what of a body may arrive at the model's server of passing: all that was
// sent, in its order, but for the list in docs/api.md.
func arrives(sent []sentMember) []sentMember {
	var out []sentMember
	has := map[string]bool{}
	streams := false
	for _, m := range sent {
		var name string
		_ = json.Unmarshal([]byte(m.name), &name)
		switch has[name] = true; {
		case name == "model":
			m.value = `"up-1"`
		case name == "weir_tools":
			continue
		case name == "stream":
			streams = m.value == "true"
		}
		out = append(out, m)
	}
	for _, extra := range []sentMember{{`"temperature"`, "0.5"}, {`"top_k"`, "7"}} { // see passing
		if !has[strings.Trim(extra.name, `"`)] {
			out = append(out, extra)
		}
	}
	if streams && !has["stream_options"] {
		out = append(out, sentMember{`"stream_options"`, `{"include_usage":true}`})
	}
	return out
}

// compare says what is different between what arrived and what was sent.
func compare(sent, arrived string) error {
	s, err := sentMembers(sent)
	if err != nil {
		return fmt.Errorf("what was sent: %w", err)
	}
	got, err := sentMembers(arrived)
	if err != nil {
		return fmt.Errorf("what arrived: %w", err)
	}
	want := arrives(s)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Errorf("member %s: %.200s was added", got[i].name, got[i].value)
		case i >= len(got):
			return fmt.Errorf("member %s: %.200s is missing", want[i].name, want[i].value)
		case want[i] != got[i]:
			return fmt.Errorf("member %s arrived as %s: %.2000s, and %.2000s was sent", want[i].name, got[i].name, got[i].value, want[i].value)
		}
	}
	return nil
}

// answerAsAsked answers a request as a stream or whole, as it asks for.
func answerAsAsked(w http.ResponseWriter, _ int, body string) {
	var b struct{ Stream any }
	if _ = json.Unmarshal([]byte(body), &b); b.Stream == true {
		chunks(w, textChunk, endChunk, usageChunk)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`)
}

// The bodies that coding agents and the libraries of OpenAI send arrive as they were sent.
func TestBodiesOfAgentsArrive(t *testing.T) {
	files, err := filepath.Glob("testdata/ownloop/*.json")
	if err != nil || len(files) < 26 {
		t.Fatalf("%d bodies: %v", len(files), err)
	}
	u := newUpstream(t, answerAsAsked)
	s := passing(t, u)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if a := s.pass(string(body)); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			asked := u.asked()
			if err := compare(string(body), asked[len(asked)-1]); err != nil {
				t.Error(err)
			}
		})
	}
}

// A handwriting is JSON as somebody wrote it: any spelling that is allowed.
type handwriting struct{ t *rapid.T }

func (w handwriting) one(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "one") }

func (w handwriting) space() string { return w.one("", "", "", "", " ", "\n", "\t", "\r\n  ") }

func (w handwriting) text() string {
	var b strings.Builder
	for range rapid.IntRange(0, 5).Draw(w.t, "pieces") {
		b.WriteString(w.one(`a`, `Hi there`, `\"`, `\\`, `\/`, `/`, `\n`, `\u0000`, `\u00e9`, `\uD83D\ude00`, `\ud800`, `\udc00x`, "é", "水", "😀", "\u2028", "\x7f", "\xff",
			`<&>`, `{\"name\":\"bash\",\"arguments\":{}}`, `<tool_call>`, "```", `data:image/png;base64,iVBO`, `e\u0301`))
	}
	return `"` + b.String() + `"`
}

func (w handwriting) value(depth int) string {
	kind := rapid.IntRange(0, 9).Draw(w.t, "kind")
	if depth <= 0 {
		kind %= 6
	}
	switch kind {
	case 0, 1, 2:
		return w.text()
	case 3:
		return w.one("true", "false", "null")
	case 4, 5:
		return w.one("0", "-0", "-0.0", "1.10", "1e400", "-1E+2", "1e-7", "0.30000000000000004", "12345678901234567890123", "9007199254740993")
	case 6, 7:
		return w.list("[", "]", func() string { return w.value(depth - 1) })
	}
	return w.list("{", "}", func() string { return w.text() + w.space() + ":" + w.space() + w.value(depth-1) })
}

func (w handwriting) list(open, end string, item func() string) string {
	var items []string
	for range rapid.IntRange(0, 4).Draw(w.t, "items") {
		items = append(items, w.space()+item()+w.space())
	}
	return open + w.space() + strings.Join(items, ",") + end
}

// deep is a value of many levels.
func (w handwriting) deep() string {
	n := rapid.IntRange(1, 900).Draw(w.t, "levels")
	return strings.Repeat(`[{"a":`, n) + w.value(1) + strings.Repeat(`}]`, n)
}

func (w handwriting) message() string {
	content := w.text()
	if rapid.Bool().Draw(w.t, "parts") {
		content = w.list("[", "]", func() string {
			return `{"type":` + w.one(`"text"`, `"image_url"`, `"odd"`) + `,"text":` + w.value(2) + `}`
		})
	}
	return `{` + w.space() + `"role":` + w.one(`"user"`, `"assistant"`, `"tool"`, `"system"`, `"developer"`, `"odd"`) + `,"content":` + w.one(content, "null") + `,` + w.text() + `:` + w.value(2) + `}`
}

// body is a request with the model "own", whose members have different names.
func (w handwriting) body() (members []string) {
	taken := map[string]bool{"model": true, "": true}
	add := func(name, value string) {
		var plain string
		if _ = json.Unmarshal([]byte(name), &plain); !taken[strings.ToLower(plain)] {
			taken[strings.ToLower(plain)] = true
			members = append(members, w.space()+name+w.space()+":"+w.space()+value+w.space())
		}
	}
	for range rapid.IntRange(0, 12).Draw(w.t, "members") {
		switch rapid.IntRange(0, 5).Draw(w.t, "member") {
		case 0:
			add(`"messages"`, w.list("[", "]", w.message))
		case 1:
			add(w.one(`"stream"`, `"tempera\u0074ure"`), w.one("true", "false", "null"))
			add(`"weir_tools"`, w.one("false", "null")) // true adds weir's tools
		case 2:
			add(w.one(`"temperature"`, `"top_k"`, `"tools"`, `"tool_choice"`, `"metadata"`, `"user"`, `"store"`, `"n"`, `"max_tokens"`, `"stop"`), w.value(3))
		case 3:
			add(w.text(), w.deep())
		default:
			add(w.text(), w.value(4))
		}
	}
	at := rapid.IntRange(0, len(members)).Draw(w.t, "model's place")
	return slices.Insert(members, at, w.space()+w.one(`"model"`, `"mod\u0065l"`)+":"+w.one(`"own"`, `"model:own"`, `"\u006fwn"`))
}

// Whatever a body holds arrives as it was written: numbers, escapes, order, unknown members.
func TestAnyBodyArrives(t *testing.T) {
	u := newUpstream(t, answerAsAsked)
	s := passing(t, u)
	for range 10 { // of 100 each
		rapid.Check(t, func(t *rapid.T) {
			body := "{" + strings.Join(handwriting{t}.body(), ",") + "}"
			a := s.pass(body)
			asked := u.asked()
			if a.status != 200 {
				t.Fatalf("%d %s for %s", a.status, a.body, body)
			}
			if err := compare(body, asked[len(asked)-1]); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A member that is there twice, in whatever letters and at whatever place, is refused.
func TestAMemberTwiceIsRefused(t *testing.T) {
	u := newUpstream(t, answerAsAsked)
	s := passing(t, u)
	rapid.Check(t, func(t *rapid.T) {
		w := handwriting{t}
		members := w.body()
		from := rapid.IntRange(0, len(members)-1).Draw(t, "from")
		m, err := sentMembers("{" + members[from] + "}")
		if err != nil {
			t.Fatal(err)
		}
		name := m[0].name
		if !strings.Contains(name, `\`) {
			name = w.one(name, strings.ToUpper(name))
		}
		members = slices.Insert(members, rapid.IntRange(0, len(members)).Draw(t, "to"), name+":"+w.value(1))
		body := "{" + strings.Join(members, ",") + "}"
		a := s.pass(body)
		unclear := a.status == 404 && strings.Contains(m[0].name, "mod") // the first of two models is no name
		if a.status != 400 && !unclear || len(u.asked()) > 0 {
			t.Fatalf("%d %s for %s", a.status, a.body, body)
		}
	})
}

// What is no JSON object, or goes on after one, is refused: nothing of it would arrive.
func TestBodiesThatAreNoObject(t *testing.T) {
	u := newUpstream(t, answerAsAsked)
	s := passing(t, u)
	whole := `{"model":"own","messages":[]}`
	for i := 1; i < len(whole); i++ {
		if a := s.pass(whole[:i]); a.status != 400 {
			t.Errorf("%d for %s", a.status, whole[:i])
		}
	}
	for _, body := range []string{whole + "x", whole + whole, whole + "]", `{"model":"own","messages":[],}`, `{"model":"own" "messages":[]}`, `{"model":"own","a":01}`, `{"model":"own","a":NaN}`, "{\"model\":\"own\",\"a\":\"\n\"}"} {
		if a := s.pass(body); a.status != 400 {
			t.Errorf("%d for %s", a.status, body)
		}
	}
	if got := u.asked(); len(got) > 0 {
		t.Errorf("sent upstream: %q", got)
	}
	if a := s.pass(whole + " \r\n"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A body of several megabytes, most of it pictures, arrives too.
func TestALargeBodyArrives(t *testing.T) {
	u := newUpstream(t, answerAsAsked)
	s := passing(t, u)
	var body bytes.Buffer
	body.WriteString(`{"model":"own","messages":[`)
	for range 200 {
		fmt.Fprintf(&body, `{"role":"user","content":[{"type":"text","text":%q},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]},`, strings.Repeat("long ", 1000), strings.Repeat("iVBO", 20_000))
	}
	body.WriteString(`{"role":"user","content":"?"}]}`)
	if a := s.pass(body.String()); a.status != 200 {
		t.Fatalf("%d %.300s for %d bytes", a.status, a.body, body.Len())
	}
	if err := compare(body.String(), u.asked()[0]); err != nil {
		t.Error(err)
	}
}

// A stream is asked for its usage beside what else its options are; the client that did not ask
// gets no such chunk.
func TestOptionsOfAStream(t *testing.T) {
	for sent, want := range map[string]string{
		`{"include_usage":false,"x":1.0}`:     `{"include_usage":true,"x":1.0}`,
		`{"y":[ ],"include_obfuscation":1e2}`: `{"y":[ ],"include_obfuscation":1e2,"include_usage":true}`,
		`{"include_usage": true, "x":1.0}`:    `{"include_usage": true, "x":1.0}`,
		`null`:                                `{"include_usage":true}`,
		`"odd"`:                               `"odd"`,
	} {
		u := newUpstream(t, answerAsAsked)
		a := passing(t, u).stream(`{"model":"own","stream":true,"stream_options":` + sent + `,"messages":[]}`)
		got, err := sentMembers(u.asked()[0])
		if err != nil || got[2].name != `"stream_options"` || got[2].value != want {
			t.Errorf("%s arrived as %v, want %s: %v", sent, got, want, err)
		}
		if asked := strings.Contains(sent, "true"); asked != (len(a.usage) > 0) || a.text != "Hi" || !a.done {
			t.Errorf("%s: the client reads %s", sent, a.raw)
		}
	}
}

// A server that does not know the option is asked once more without it, unless the client wants
// it: then the refusal is the client's.
func TestAServerWithoutUsageInStreams(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, n int, body string) {
		if strings.Contains(body, "stream_options") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error"}}`)
			return
		}
		chunks(w, textChunk, endChunk)
	})
	s := passing(t, u)
	const plain = `{"model":"own","stream":true,"messages":[]}`
	if a := s.stream(plain); a.status != 200 || a.text != "Hi" || len(u.asked()) != 2 {
		t.Errorf("%d %s, asked %d times", a.status, a.raw, len(u.asked()))
	}
	if a := s.stream(plain); a.status != 200 || a.text != "Hi" || len(u.asked()) != 3 {
		t.Errorf("the second time: %d %s, asked %d times", a.status, a.raw, len(u.asked()))
	}
	if a := s.stream(`{"model":"own","stream":true,"stream_options":{"include_usage":true},"messages":[]}`); a.status != 400 || !strings.Contains(a.raw, "stream_options") || len(u.asked()) != 4 {
		t.Errorf("a client that asks: %d %s, asked %d times", a.status, a.raw, len(u.asked()))
	}
}
