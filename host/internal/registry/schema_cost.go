package registry

import (
	"fmt"
	"net/url"
	rx "regexp/syntax"
	"strconv"
	"strings"
)

// Bounds of what a schema may cost. A few bytes of it can ask for gigabytes, as
// a regular expression of nested repeats, or for hours, as references that
// double at each step.
const (
	maxPatternSize = 20000 // instructions of all expressions together
	maxSchemaSteps = 50000 // parts, each counted as often as it is referred to
)

// afford refuses a schema that costs too much to compile or to check against.
func afford(root map[string]any) error {
	c := &schemaCost{root: root, anchors: map[string]any{}, steps: map[string]int{}}
	if err := c.look(root, true); err != nil {
		return err
	}
	if c.patterns > maxPatternSize {
		return &schemaError{msg: "its regular expressions are too large; use fewer and shorter repeats"}
	}
	if c.count(root) > maxSchemaSteps {
		return &schemaError{msg: "its references multiply too often; use fewer of them"}
	}
	return nil
}

type schemaCost struct {
	root     map[string]any
	anchors  map[string]any // by name
	patterns int
	steps    map[string]int // by reference; 1 while it is being counted: a circle
}

// look weighs the regular expressions and finds the anchors.
func (c *schemaCost) look(v any, top bool) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := c.look(e, false); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := v[key].(string); ok {
				c.anchors[name] = v
			}
		}
		if id, ok := v["$id"].(string); ok && !top {
			return &schemaError{msg: fmt.Sprintf("it holds a schema of its own, %q; write it without $id", id)}
		}
		if p, ok := v["pattern"].(string); ok {
			c.weigh(p)
		}
		if m, ok := v["patternProperties"].(map[string]any); ok {
			for p := range m {
				c.weigh(p)
			}
		}
		for _, e := range v {
			if err := c.look(e, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *schemaCost) weigh(pattern string) {
	re, err := rx.Parse(pattern, rx.Perl)
	if err != nil {
		return // the compiler says so better
	}
	c.patterns = min(c.patterns+patternSize(re), maxPatternSize+1)
}

// patternSize is about how many instructions an expression becomes.
func patternSize(re *rx.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n += patternSize(sub)
	}
	if re.Op == rx.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatternSize+1)
}

// count counts the parts of a schema, those behind a reference each time.
func (c *schemaCost) count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = min(n+c.count(e), maxSchemaSteps+1)
		}
	case map[string]any:
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := v[key].(string); ok {
				n += c.behind(ref)
			}
		}
		for _, e := range v {
			n = min(n+c.count(e), maxSchemaSteps+1)
		}
	}
	return n
}

// behind counts what a reference stands for.
func (c *schemaCost) behind(ref string) int {
	if n, ok := c.steps[ref]; ok {
		return n
	}
	c.steps[ref] = 1
	c.steps[ref] = c.count(c.find(ref))
	return c.steps[ref]
}

// find returns what a reference inside the schema points at; nil: nothing, or
// something outside, which is refused elsewhere.
func (c *schemaCost) find(ref string) any {
	at, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if at != "" && at[0] != '/' {
		return c.anchors[at]
	}
	var v any = c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		if at == "" {
			break
		}
		plain, err := url.PathUnescape(part)
		if err != nil {
			return nil
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(plain)
		switch parent := v.(type) {
		case map[string]any:
			v = parent[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}
