package archive

import (
	"encoding/json"
	"strings"
	"testing"
)

const someID = "01890abc-0000-7000-8000-00000000abcd"

func TestParsePart(t *testing.T) {
	for args, want := range map[string]Part{
		`{}`:                                {},
		`{"lines":"95-706"}`:                {First: 95, Last: 706},
		`{"lines":" 95 - 706 "}`:            {First: 95, Last: 706},
		`{"lines":"95–706"}`:                {First: 95, Last: 706}, // a typographic dash
		`{"lines":"95..706"}`:               {First: 95, Last: 706},
		`{"lines":"L95-L706"}`:              {First: 95, Last: 706},
		`{"lines":"95:706"}`:                {First: 95, Last: 706},
		`{"lines":"95到706"}`:                {First: 95, Last: 706},
		`{"lines":[95,706]}`:                {First: 95, Last: 706},
		`{"lines":"95-"}`:                   {First: 95},
		`{"lines":95}`:                      {First: 95, Last: 95},
		`{"lines":"95"}`:                    {First: 95, Last: 95},
		`{"lines":"0-20"}`:                  {First: 1, Last: 20}, // counted from 0
		`{"line":"7"}`:                      {First: 7, Last: 7},
		`{"grep":"a|b","context":2}`:        {Grep: "a|b", Context: 2},
		`{"pattern":"x","context":"2"}`:     {Grep: "x", Context: 2},
		`{"grep":"  two  "}`:                {Grep: "  two  "}, // spaces may be meant
		`{"pointer":"/a/0"}`:                {Pointer: "/a/0"},
		`{"pointer":"a/0"}`:                 {Pointer: "/a/0"},
		`{"pointer":"#/a%20b"}`:             {Pointer: "/a b"},
		`{"pointer":"#/a%zz"}`:              {Pointer: "/#/a%zz"}, // not a fragment after all
		`{"head":"20","tail":5.0}`:          {Head: 20, Tail: 5},
		`{"offset":32768}`:                  {Offset: 32768},
		`{"lines":null,"grep":"","head":3}`: {Head: 3}, // empty is absent
		`{"Head":3,"keep_turns":2}`:         {Head: 3},
	} {
		args = strings.Replace(args, "{", `{"uuid":"`+someID+`",`, 1)
		args = strings.Replace(args, ",}", "}", 1)
		id, got, err := ParsePart(json.RawMessage(args))
		if err != nil || got != want || id != someID {
			t.Errorf("%s reads as %+v of %q, error %v; want %+v", args, got, id, err, want)
		}
	}
}

func TestParsePartFindsTheID(t *testing.T) {
	for in, want := range map[string]string{
		someID:                  someID,
		" " + someID + "\n":     someID,
		strings.ToUpper(someID): someID,
		"@result:" + someID:     someID,
		"📎 [工具结果存档: " + someID + "]": someID,
		"a7k2": "a7k2", // not an id, but the store says that better
	} {
		args, err := json.Marshal(map[string]string{"id": in})
		if err != nil {
			t.Fatal(err)
		}
		if got, p, err := ParsePart(args); err != nil || got != want || p != (Part{}) {
			t.Errorf("%q reads as %q, error %v", in, got, err)
		}
	}
}

func TestParsePartRefuses(t *testing.T) {
	for name, args := range map[string]string{
		"nothing":             ``,
		"no object":           `["` + someID + `"]`,
		"half an object":      `{"uuid":"` + someID,
		"no id":               `{"lines":"1-2"}`,
		"an empty id":         `{"uuid":"  "}`,
		"an id of no kind":    `{"uuid":7}`,
		"lines in words":      `{"uuid":"x","lines":"the first ten"}`,
		"line 0":              `{"uuid":"x","lines":"0"}`,
		"lines backwards":     `{"uuid":"x","lines":"9-3"}`,
		"lines from the end":  `{"uuid":"x","lines":"-20"}`,
		"a line out of sight": `{"uuid":"x","lines":"99999999999999999999"}`,
		"lines to nowhere":    `{"uuid":"x","lines":"1-99999999999999999999"}`,
		"three lines":         `{"uuid":"x","lines":[1,2,3]}`,
		"a negative head":     `{"uuid":"x","head":-1}`,
		"half a line":         `{"uuid":"x","tail":1.5}`,
		"a number in words":   `{"uuid":"x","offset":"ten"}`,
		"grep of no kind":     `{"uuid":"x","grep":["a"]}`,
		"two ways":            `{"uuid":"x","grep":"a","pointer":"/a"}`,
		"context alone":       `{"uuid":"x","context":3}`,
		"a misspelt name":     `{"uuid":"x","greb":"a"}`, // to read the whole instead would be worse
		"a name twice":        `{"uuid":"x","grep":"a","pattern":"b"}`,
	} {
		_, _, err := ParsePart(json.RawMessage(args))
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantBadArgs(t, err)
	}
}

// FuzzParsePart: whatever a model writes is a part that can be cut, or a
// complaint.
func FuzzParsePart(f *testing.F) {
	for _, seed := range []string{`{"uuid":"x","lines":"1-2"}`, `{"id":"x","grep":"a","context":"2"}`, `{"uuid":"x","lines":[1,2],"head":3}`,
		`{"uuid":"x","pointer":"#/a~1b"}`, `null`, `{"uuid":{}}`, `{"uuid":"x","lines":"９-１２"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		id, p, err := ParsePart(args)
		if err != nil {
			wantBadArgs(t, err)
			return
		}
		if id == "" || p.check() != nil {
			t.Errorf("%s reads as %+v of %q", args, p, id)
		}
		if _, err := selectPart(fiveLines, p); err != nil {
			wantBadArgs(t, err)
		}
	})
}
