package config

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
)

// A reference to a variable: ${NAME} or ${NAME:-default}.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`) })

// expand replaces references in every string below v, which is a pointer. What
// is not set and has no default becomes empty; whoever needs it complains with
// the setting's name.
func expand(v any, env Lookup) { expandValue(reflect.ValueOf(v).Elem(), env) }

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
			if v.Type().Field(i).IsExported() { // the others are no settings
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

// DotEnv reads the .env beside the configuration. It is read only when nobody
// else may: with other permissions it is left alone and the reason returned.
func DotEnv(config string) (vars map[string]string, skipped string, err error) {
	if config == "" {
		return nil, "", nil
	}
	file := filepath.Join(filepath.Dir(config), ".env")
	st, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Sprintf("%s is not read: others may read it too; run `chmod 600 %s`", file, file), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	vars = map[string]string{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(sc.Text()), "export "))
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, "", msg.Usagef("write NAME=value", "%s:%d: this line sets no variable", file, n)
		}
		value = strings.TrimSpace(value)
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		vars[strings.TrimSpace(name)] = value
	}
	return vars, "", sc.Err()
}

// over looks a name up in the environment first, then in vars.
func over(env Lookup, vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		if v, ok := env(name); ok {
			return v, true
		}
		v, ok := vars[name]
		return v, ok
	}
}
