package schema

import (
	"net/url"
	rx "regexp/syntax"
	"strconv"
	"strings"
)

// Bounds on the cost of a schema. A few bytes can require gigabytes, as a regular
// expression with nested repeats does, or hours, as references that double at each
// step do.
const (
	maxPatternSize = 20000 // instructions of all expressions together
	maxSchemaSteps = 50000 // parts, each counted as often as it is referred to
)

// checkCost refuses a schema that costs too much to compile or to check against.
func checkCost(root map[string]any) error {
	c := &cost{root: root, anchors: map[string]any{}, steps: map[string]int{}}
	if err := c.scan(root, true); err != nil {
		return err
	}
	if c.patterns > maxPatternSize {
		return errorf("its regular expressions are too large; use fewer and shorter repeats")
	}
	if c.count(root) > maxSchemaSteps {
		return errorf("its references multiply too often; use fewer of them")
	}
	return nil
}

type cost struct {
	root     map[string]any
	anchors  map[string]any // by name
	patterns int
	steps    map[string]int // by reference; 1 while it is being counted: a circle
}

// scan adds up the regular expressions and collects the anchors. top: v is the root.
func (c *cost) scan(v any, top bool) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := c.scan(e, false); err != nil {
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
			return errorf("it holds a schema of its own, %q; write it without $id", id)
		}
		if p, ok := v["pattern"].(string); ok {
			c.addPattern(p)
		}
		if m, ok := v["patternProperties"].(map[string]any); ok {
			for p := range m {
				c.addPattern(p)
			}
		}
		for _, e := range v {
			if err := c.scan(e, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cost) addPattern(pattern string) {
	re, err := rx.Parse(pattern, rx.Perl)
	if err != nil {
		return // the compiler reports it
	}
	c.patterns = min(c.patterns+patternSize(re), maxPatternSize+1)
}

// patternSize estimates the number of instructions of an expression.
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

// count counts the parts of a schema, and the target of a reference at each use.
func (c *cost) count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = min(n+c.count(e), maxSchemaSteps+1)
		}
	case map[string]any:
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := v[key].(string); ok {
				n += c.countTarget(ref)
			}
		}
		for _, e := range v {
			n = min(n+c.count(e), maxSchemaSteps+1)
		}
	}
	return n
}

// countTarget counts the parts of the target of a reference.
func (c *cost) countTarget(ref string) int {
	if n, ok := c.steps[ref]; ok {
		return n
	}
	c.steps[ref] = 1
	c.steps[ref] = c.count(c.find(ref))
	return c.steps[ref]
}

// find returns the target of a reference inside the schema, or nil: there is none,
// or it is outside, which the loader refuses.
func (c *cost) find(ref string) any {
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
