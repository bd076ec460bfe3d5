package tool

import (
	"encoding/json"
	"fmt"
)

// A Text is a sentence for a person or a model: a format of package fmt and its
// arguments. It stays in two parts until the language of its reader is known.
// An argument may be a Text or an error that holds one; it is then shown in the
// same language. The zero Text is empty. A Text must not be modified after it
// was made; it is then safe for concurrent use.
type Text struct {
	// Format is the English sentence, and the key of its translations.
	// Without Args it is shown as it is, and a % in it is a plain %.
	Format string
	Args   []any
	// Zh is the sentence in Chinese, a format for the same Args, where its author
	// writes both: a plugin has no catalogue of translations. Empty: none.
	Zh string
}

// Textf returns a Text of a format and its arguments.
func Textf(format string, args ...any) Text {
	if false {
		_ = fmt.Sprintf(format, args...) // go vet then checks the callers' formats
	}
	return Text{Format: format, Args: args}
}

// IsZero reports whether the Text is empty.
func (t Text) IsZero() bool { return t.Format == "" }

// String returns the sentence in English.
func (t Text) String() string {
	if len(t.Args) == 0 {
		return t.Format
	}
	return fmt.Sprintf(t.Format, t.Args...)
}

// In returns the sentence in the language l, in English where its author wrote no
// Chinese. A Text among the arguments is shown in the same language.
func (t Text) In(l Locale) string {
	if l != Zh || t.Zh == "" {
		return t.String()
	}
	if len(t.Args) == 0 {
		return t.Zh
	}
	args := make([]any, len(t.Args))
	for i, a := range t.Args {
		args[i] = a
		if text, ok := a.(Text); ok {
			args[i] = text.In(l)
		}
	}
	return fmt.Sprintf(t.Zh, args...)
}

// MarshalJSON returns the English sentence as a JSON string.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON reads a JSON string; the result has no Args.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{}
	return json.Unmarshal(data, &t.Format)
}
