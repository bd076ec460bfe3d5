package generate

import (
	"encoding/json"
	"maps"
	"slices"
)

// smaller returns values that are simpler than v, the simplest first. They share
// unchanged parts with v.
func smaller(v any) []any {
	switch v := v.(type) {
	case string:
		return smallerText(v)
	case json.Number:
		return smallerNumber(v)
	case bool:
		if v {
			return []any{false}
		}
	case []any:
		return smallerList(v)
	case map[string]any:
		return smallerObject(v)
	}
	return nil
}

func smallerText(s string) (out []any) {
	r := []rune(s)
	if len(r) == 0 {
		return nil
	}
	out = append(out, "")
	for n := len(r) / 2; n > 0; n /= 2 { // without a half, a quarter …
		for at := 0; at+n <= len(r) && len(out) < 64; at += n {
			out = append(out, string(slices.Delete(slices.Clone(r), at, at+n)))
		}
	}
	for i, c := range r[:min(len(r), 16)] {
		if c != 'a' {
			simple := slices.Clone(r)
			simple[i] = 'a'
			out = append(out, string(simple))
		}
	}
	return out
}

func smallerNumber(n json.Number) (out []any) {
	f, err := n.Float64()
	if err != nil || f == 0 {
		return nil
	}
	out = append(out, json.Number("0"))
	if whole := int64(f); float64(whole) != f {
		return append(out, json.Number(formatInt(whole)))
	} else if whole < 0 {
		out = append(out, json.Number(formatInt(-whole)))
	}
	whole := int64(f)
	for step := whole / 2; step != 0; step /= 2 {
		out = append(out, json.Number(formatInt(whole-step)))
	}
	if whole > 0 {
		out = append(out, json.Number(formatInt(whole-1)))
	}
	return out
}

func smallerList(list []any) (out []any) {
	for i := range list {
		out = append(out, slices.Delete(slices.Clone(list), i, i+1))
	}
	for i, e := range list {
		for _, s := range smaller(e) {
			c := slices.Clone(list)
			c[i] = s
			out = append(out, c)
		}
	}
	return out
}

func smallerObject(m map[string]any) (out []any) {
	names := slices.Sorted(maps.Keys(m))
	for _, name := range names {
		c := maps.Clone(m)
		delete(c, name)
		out = append(out, c)
	}
	for _, name := range names {
		for _, s := range smaller(m[name]) {
			c := maps.Clone(m)
			c[name] = s
			out = append(out, c)
		}
	}
	return out
}

// Shrink returns the smallest arguments that are still bad, as far as it finds
// them with at most tries calls of bad. It moves numbers toward 0, shortens texts
// and lists, and removes arguments.
func Shrink(args map[string]any, tries int, bad func(map[string]any) bool) map[string]any {
	for better := true; better && tries > 0; {
		better = false
		for _, v := range smaller(args) {
			if tries--; tries < 0 {
				break
			}
			if c := v.(map[string]any); bad(c) {
				args, better = c, true
				break
			}
		}
	}
	return args
}
