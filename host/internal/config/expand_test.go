package config

import "testing"

// A variable that is set to nothing takes the default, if the reference has one, as in a
// shell.
func TestExpandString(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"SET": "value", "EMPTY": ""}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"${SET}": "value", "${SET:-other}": "value", "${EMPTY}": "", "${EMPTY:-other}": "other", "${NONE}": "", "${NONE:-other}": "other", "${NONE:-}": "",
		"a ${SET} b ${NONE:-c} d": "a value b c d", "$SET": "$SET", "${1}": "${1}", "${SET": "${SET", "${NONE:-http://localhost:11434}": "http://localhost:11434",
	} {
		e := expansion{env: env}
		if got := e.text(text, nil); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
