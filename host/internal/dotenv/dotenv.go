// Package dotenv reads the variables in the .env beside a configuration file.
package dotenv

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Local is what the name of the file that takes precedence over .env adds to it.
const Local = ".local"

// File returns the .env beside a configuration file; empty: there is no such file.
func File(config string) string {
	if config == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(config), ".env")
}

// Read reads the .env beside the configuration file, and .env.local, whose values
// take precedence. A file that other users may read is not read, and skipped has the
// reason. Without a configuration file, and without these files, there are no variables.
func Read(config string) (vars map[string]string, skipped tool.Text, err error) {
	file := File(config)
	if file == "" {
		return nil, skipped, nil
	}
	vars, skipped, err = readEnv(file)
	if err != nil {
		return nil, skipped, err
	}
	local, also, err := readEnv(file + Local)
	switch {
	case skipped.IsZero():
		skipped = also
	case !also.IsZero():
		skipped = tool.Textf("%v; %v", skipped, also)
	}
	if vars == nil {
		return local, skipped, err
	}
	maps.Copy(vars, local)
	return vars, skipped, err
}

// readEnv reads one file of variables. nil: there is none.
func readEnv(file string) (vars map[string]string, skipped tool.Text, err error) {
	st, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, skipped, nil
	}
	if err != nil {
		return nil, skipped, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, tool.Textf("%s is not read: others may read it too; run `chmod 600 %s`", file, file), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, skipped, err
	}
	vars = map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\uFEFF"), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, skipped, msg.Usagef("write NAME=value", "%s:%d: this line sets no variable", file, i+1)
		}
		vars[strings.TrimSpace(name)] = unquote(strings.TrimSpace(value))
	}
	return vars, skipped, nil
}

// unquote removes the quotation marks around a value.
func unquote(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
