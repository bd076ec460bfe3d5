package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

// A folder in place of a file is named without a call of the system, and with a fix.
func TestReadAllOfAFolder(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = readAll(f, 10)
	if p, ok := errors.AsType[*msg.Problem](err); !ok || p.Error() != "the text cannot be read: is a directory" || p.Hint.IsZero() {
		t.Errorf("%v", err)
	}
}

func TestReadLine(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     []string // "!" for a line that is too long
	}{
		{"nothing", "", nil},
		{"one line, ended", "a\n", []string{"a"}},
		{"the last line need not be ended", "a\nb", []string{"a", "b"}},
		{"an empty line is a line", "\n\na\n", []string{"", "", "a"}},
		{"a carriage return belongs to JSON's white space", "a\r\n", []string{"a\r"}},
		{"as long as may be, newline included", strings.Repeat("x", 39) + "\n", []string{strings.Repeat("x", 39)}},
		{"too long, and the next is still read", strings.Repeat("x", 100) + "\nb\n", []string{"!", "b"}},
		{"too long and never ended", strings.Repeat("x", 100), []string{"!"}},
	} {
		r := bufio.NewReaderSize(strings.NewReader(row.in), 16) // 16 is the least, so that lines pass it
		var got []string
		for {
			line, err := readLine(r, 40)
			if err == io.EOF {
				break
			}
			if errors.Is(err, errLongLine) {
				line = []byte("!")
			} else if err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// Whatever comes in, there are as many answers as lines, each is an object with
// the four fields, and the good lines answer under their ids, in order.
func TestJSONLKeepsOrderAndCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		good := rapid.Custom(func(t *rapid.T) string {
			text, _ := json.Marshal(rapid.String().Draw(t, "text"))
			return `{"id":"id","tools":null,"text":` + string(text) + `}`
		})
		noise := rapid.StringMatching(`[ -~]{0,40}`)
		lines := rapid.SliceOfN(rapid.OneOf(good, noise), 1, 12).Draw(t, "lines")
		var out, complaints bytes.Buffer
		c := newCLI(term.Env{In: strings.NewReader(strings.Join(lines, "\n") + "\n"), Out: &out, Err: &complaints})
		err := parseRun{lines: true}.jsonl(t.Context(), c)
		answers := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(answers) != len(lines) {
			t.Fatalf("%d lines, %d answers: %q", len(lines), len(answers), out.String())
		}
		bad := 0
		for i, a := range answers {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(a), &fields); err != nil {
				t.Fatalf("answer %d is not JSON: %s", i+1, a)
			}
			for _, name := range []string{"id", "calls", "text", "malformed"} {
				if fields[name] == nil {
					t.Errorf("answer %d has no %s: %s", i+1, name, a)
				}
			}
			if fields["error"] != nil {
				bad++
			} else if strings.HasPrefix(lines[i], `{"id":"id"`) && string(fields["id"]) != `"id"` {
				t.Errorf("answer %d lost its id: %s", i+1, a)
			}
		}
		if (err != nil) != (bad > 0) || strings.Count(complaints.String(), "\n") != bad+min(bad, 1) {
			t.Errorf("%d bad lines, error %v, told %q", bad, err, complaints.String())
		}
	})
}

// A program that asks one line at a time gets each answer before it asks again.
func TestJSONLAnswersAtOnce(t *testing.T) {
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := parseRun{lines: true}.jsonl(t.Context(), newCLI(term.Env{In: in, Out: out, Err: io.Discard}))
		_ = out.Close()
		done <- err
	}()
	r := bufio.NewReader(answer)
	for _, id := range []string{"1", "2", "3"} {
		if _, err := io.WriteString(ask, `{"id":`+id+`,"text":"x"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		got, err := r.ReadString('\n')
		if err != nil || !strings.HasPrefix(got, `{"id":`+id+`,`) {
			t.Fatalf("%q, error %v", got, err)
		}
	}
	_ = ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A reader that fails is reported after the answers until then.
func TestJSONLReadFailure(t *testing.T) {
	broken := errors.New("the disk is gone")
	var out bytes.Buffer
	in := io.MultiReader(strings.NewReader(`{"id":1,"text":"x"}`+"\n"), failing{broken})
	err := parseRun{lines: true}.jsonl(t.Context(), newCLI(term.Env{In: in, Out: &out, Err: io.Discard}))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("answers %q", out.String())
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
