package config

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
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

// expand replaces the references in every string below v, which is a pointer. A
// reference to a variable that is not set and has no default becomes empty; the code
// that needs the setting reports it by the name of the setting.
func expand(v any, env Lookup) { expandValue(reflect.ValueOf(v).Elem(), env) }

// expandString replaces the references in s.
func expandString(s string, env Lookup) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		m := reference().FindStringSubmatch(ref)
		if value, ok := env(m[1]); ok && (value != "" || m[2] == "") {
			return value
		}
		return m[3]
	})
}

func expandValue(v reflect.Value, env Lookup) {
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), "${") {
			v.SetString(expandString(v.String(), env))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			expandValue(v.Elem(), env)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // the other fields are no settings
				expandValue(v.Field(i), env)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			expandValue(v.Index(i), env)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, expanded(v.MapIndex(k), env))
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(expanded(v.Elem(), env))
		}
	}
}

// expanded returns an expanded copy of a value that cannot be set in place.
func expanded(v reflect.Value, env Lookup) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	expandValue(c, env)
	return c
}
