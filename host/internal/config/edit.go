package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/within"
)

var anyHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*\[`) })

// SetKey sets table.key to value, a TOML literal, in the text of a TOML file. All other
// text, comments included, does not change.
func SetKey(text, table, key, value string) string {
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*` + regexp.QuoteMeta(table) + `[ \t]*\][^\n]*\n?`)
	at := header.FindStringIndex(text)
	if at == nil {
		return strings.TrimRight(text, "\n") + fmt.Sprintf("\n\n[%s]\n%s = %s\n", table, key, value)
	}
	end := len(text)
	if next := anyHeader().FindStringIndex(text[at[1]:]); next != nil {
		end = at[1] + next[0]
	}
	line := regexp.MustCompile(`(?m)^([ \t]*)` + regexp.QuoteMeta(key) + `[ \t]*=[^\n#]*(#[^\n]*)?$`)
	if m := line.FindStringSubmatchIndex(text[at[1]:end]); m != nil {
		comment := ""
		if m[4] >= 0 {
			comment = " " + text[at[1]+m[4]:at[1]+m[5]]
		}
		return text[:at[1]+m[0]] + key + " = " + value + comment + text[at[1]+m[1]:]
	}
	return text[:at[1]] + key + " = " + value + "\n" + text[at[1]:]
}

// SetModel writes [models.<name>] and makes it the model of the default profile.
func SetModel(text, name string, m ModelSettings) string {
	table := "models." + name
	if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(name) {
		table = "models." + strconv.Quote(name)
	}
	for _, kv := range [][2]string{{"window", strconv.Itoa(m.Window)}, {"model", strconv.Quote(m.Model)}, {"key", strconv.Quote(m.Key)}, {"base_url", strconv.Quote(m.BaseURL)}, {"provider", strconv.Quote(m.Provider)}} {
		if kv[1] == `""` || kv[1] == "0" {
			continue
		}
		text = SetKey(text, table, kv[0], kv[1])
	}
	return SetKey(text, "agent", "model", strconv.Quote(name))
}

// WriteFile replaces a configuration file in one step. After a crash the file is the old
// or the new one.
func WriteFile(file, text string) error {
	return atomicfile.Replace(file, ".tools-*.toml", 0o777, []byte(text))
}

// ReadForEdit returns a configuration file and its text. Without a file it is the
// one that the configuration folder would have, with no text yet.
func (o Source) ReadForEdit(file string) (path, text string, err error) {
	if file == "" {
		dir := o.xdg("XDG_CONFIG_HOME", ".config")
		if dir == "" {
			return "", "", msg.Usagef("give --config FILE", "there is no configuration file to write to")
		}
		return filepath.Join(dir, FileName), "", nil
	}
	raw, err := within.ReadText(file)
	if err != nil {
		return "", "", msg.Usagef("give a file that you may read", "the configuration %s cannot be read: %s", file, msg.Reason(err))
	}
	return file, string(raw), nil
}
