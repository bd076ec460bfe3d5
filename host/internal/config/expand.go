package config

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// reference matches ${NAME} or ${NAME:-default}.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`) })

// Variable returns the variable that a text refers to; empty: it refers to none.
func Variable(text string) string {
	if ref := reference().FindStringSubmatch(text); ref != nil {
		return ref[1]
	}
	return ""
}

// IsVariable reports whether name can be written as ${name}.
func IsVariable(name string) bool { return name != "" && Variable("${"+name+"}") == name }

// An unset is a reference, without a default, to a variable that is not set.
type unset struct {
	name string
	key  []string // where it is written
}

// An expansion replaces the references in settings.
type expansion struct {
	env   Lookup
	unset []unset
	used  map[string]map[string]string // of each server: variables that are set
}

// expand replaces the references in every string below v, which is a pointer. A
// reference to a variable that is not set and has no default becomes empty; expand returns
// these, and the values of those that servers refer to, by server.
func expand(v any, env Lookup) ([]unset, map[string]map[string]string) {
	e := expansion{env: env, used: map[string]map[string]string{}}
	e.value(reflect.ValueOf(v).Elem(), nil)
	return e.unset, e.used
}

// use notes the value of a variable that a server refers to.
func (e *expansion) use(name, value string, key []string) {
	if len(key) < 2 || key[0] != "mcpServers" {
		return
	}
	if e.used[key[1]] == nil {
		e.used[key[1]] = map[string]string{}
	}
	e.used[key[1]][name] = value
}

// text replaces the references in the string at a key.
func (e *expansion) text(s string, key []string) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		m := reference().FindStringSubmatch(ref)
		value, ok := e.env(m[1])
		if ok && (value != "" || m[2] == "") {
			e.use(m[1], value, key)
			return value
		}
		if m[2] == "" {
			e.unset = append(e.unset, unset{m[1], slices.Clone(key)})
		}
		return m[3]
	})
}

func (e *expansion) value(v reflect.Value, key []string) {
	at := func(name string) []string { return append(key[:len(key):len(key)], name) }
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), "${") {
			v.SetString(e.text(v.String(), key))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			e.value(v.Elem(), key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous {
				e.value(v.Field(i), key)
			} else if f.IsExported() { // the other fields are no settings
				e.value(v.Field(i), at(keyOf(f)))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			e.value(v.Index(i), at(strconv.Itoa(i)))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, e.copy(v.MapIndex(k), at(k.String())))
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(e.copy(v.Elem(), key))
		}
	}
}

// copy returns an expanded copy of a value that cannot be set in place.
func (e *expansion) copy(v reflect.Value, key []string) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	e.value(c, key)
	return c
}

// Unset returns a warning for each variable that is not set and has no default. Empty counts as
// set, and so does a default of nothing, ${NAME:-}. The key of a model is not among them: who
// has several may lack some, and a model that is used says it.
func (s Settings) Unset() []Fault {
	var out []Fault
	for _, u := range s.unset {
		if table := u.key[0]; table == "models" && u.key[len(u.key)-1] == "key" || table == "mcpServers" && s.Servers[u.key[1]].Disabled {
			continue
		}
		out = append(out, s.positions.fault(tool.Textf("the variable %s is not set", u.name),
			tool.Textf("set it in the environment or in .env beside the file; write ${%s:-} where it may be empty", u.name), u.key...))
	}
	slices.SortFunc(out, func(a, b Fault) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
	return out
}

// unsetOf returns the variables that are not set and that a server's entry refers to.
func (s Settings) unsetOf(server string) []string {
	var out []string
	for _, u := range s.unset {
		if u.key[0] == "mcpServers" && u.key[1] == server {
			out = append(out, u.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
