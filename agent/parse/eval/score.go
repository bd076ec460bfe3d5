package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Row is a Case with its truth.
type Row struct {
	Case
	Model  string `json:"model"`
	Format string `json:"format"`
	// Expect are the calls; Accept are accepted values for each argument, where
	// "" says that the argument may be left out.
	Expect []Truth `json:"expect"`
	Accept []Truth `json:"accept"`
	// Negative rows must not call anything.
	Negative bool `json:"negative"`
}

// A Truth is one call that must be recognised.
type Truth struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// Exact reports whether calls are what the row asks for, in any order. In
// names, '.' and '_' are alike; numbers compare as numbers.
func (r Row) Exact(calls []Call) bool {
	switch {
	case r.Negative:
		return len(calls) == 0
	case r.Accept != nil:
		return matchAll(calls, r.Accept, accepted)
	}
	return matchAll(calls, r.Expect, func(args, want map[string]any) bool { return reflect.DeepEqual(args, want) })
}

func matchAll(calls []Call, truths []Truth, ok func(args, want map[string]any) bool) bool {
	left := slices.Clone(truths)
	for _, c := range calls {
		var args map[string]any
		if json.Unmarshal(c.Arguments, &args) != nil {
			return false
		}
		i := slices.IndexFunc(left, func(t Truth) bool {
			return strings.ReplaceAll(t.Name, ".", "_") == strings.ReplaceAll(c.Name, ".", "_") && ok(args, t.Arguments)
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// accepted reports whether every argument has one of its accepted values and
// none is missing that may not be.
func accepted(args, want map[string]any) bool {
	for k, v := range args {
		if _, known := want[k]; !known || !valueIn(v, want[k]) {
			return false
		}
	}
	for k, w := range want {
		if _, given := args[k]; !given && !slices.Contains(list(w), any("")) {
			return false
		}
	}
	return true
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func valueIn(v, alternatives any) bool {
	return slices.ContainsFunc(list(alternatives), func(a any) bool {
		if reflect.DeepEqual(v, a) || strings.EqualFold(strings.TrimSpace(fmt.Sprint(v)), strings.TrimSpace(fmt.Sprint(a))) {
			return true
		}
		obj, isObj := v.(map[string]any)
		want, both := a.(map[string]any)
		if !isObj || !both {
			return false
		}
		for k, sub := range obj {
			if w, ok := want[k]; !ok || !valueIn(sub, w) {
				return false
			}
		}
		return true
	})
}

// A Tally counts what became of the rows of one file.
type Tally struct {
	Rows, Exact, Negatives, Fired int
	ByFormat                      map[string]*Tally
	// Missed are the ids of the rows that are not exact, or fired.
	Missed []string
}

// Add counts one row.
func (t *Tally) Add(r Row, calls []Call) {
	if t.ByFormat == nil {
		t.ByFormat = map[string]*Tally{}
	}
	f := t.ByFormat[r.Format]
	if f == nil {
		f = &Tally{}
		t.ByFormat[r.Format] = f
	}
	exact := r.Exact(calls)
	for _, x := range []*Tally{t, f} {
		if r.Negative {
			x.Negatives++
			if len(calls) > 0 {
				x.Fired++
			}
			continue
		}
		x.Rows++
		if exact {
			x.Exact++
		}
	}
	if !exact {
		t.Missed = append(t.Missed, r.ID)
	}
}

// String prints the counts, one line for each format and one for all.
func (t *Tally) String() string {
	var b bytes.Buffer
	for _, f := range slices.Sorted(maps.Keys(t.ByFormat)) {
		fmt.Fprintf(&b, "  %-28s %s\n", f, t.ByFormat[f].line())
	}
	fmt.Fprintf(&b, "  %-28s %s\n", "all", t.line())
	return b.String()
}

func (t *Tally) line() string {
	var parts []string
	if t.Rows > 0 {
		parts = append(parts, fmt.Sprintf("exact %d of %d (%.1f %%)", t.Exact, t.Rows, 100*float64(t.Exact)/float64(t.Rows)))
	}
	if t.Negatives > 0 {
		parts = append(parts, fmt.Sprintf("fired %d of %d", t.Fired, t.Negatives))
	}
	return strings.Join(parts, ", ")
}
