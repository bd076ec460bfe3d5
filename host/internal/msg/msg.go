// Package msg shows sentences in the language of their reader. A sentence is a
// tool.Text: an English format and its arguments, put together where something
// happens and rendered once, at the edge, where the reader's language is known.
// The English format is the key of its translation in zh/*.toml, one file for each part
// of the program. Nothing is looked up by text that is already formatted.
package msg

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/sdk/tool"
)

//go:embed zh/*.toml
var files embed.FS

// chinese returns the translations by their English formats.
var chinese = sync.OnceValues(func() (map[string]string, error) { return load(files) })

func load(from fs.FS) (map[string]string, error) {
	all := map[string]string{}
	names, err := fs.Glob(from, "zh/*.toml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var page map[string]string
		if _, err := toml.DecodeFS(from, name, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for key, text := range page {
			if _, twice := all[key]; twice {
				return nil, fmt.Errorf("%s: %q has two translations", name, key)
			}
			all[key] = text
		}
	}
	return all, nil
}

// Chinese returns all translations by their English formats. The map must not be
// modified.
func Chinese() (map[string]string, error) { return chinese() }

// Format returns the translation of an English format, or the format itself where
// the language is English or has no translation. White space around it stays.
func Format(l tool.Locale, format string) string {
	if l != tool.Zh {
		return format
	}
	texts, err := chinese()
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	core := strings.TrimSpace(format)
	text, ok := texts[core]
	if !ok {
		return format
	}
	before, after, _ := strings.Cut(format, core)
	return before + text + after
}

// In returns t in the language l.
func In(l tool.Locale, t tool.Text) string {
	format := t.Zh
	if l != tool.Zh || format == "" {
		format = Format(l, t.Format)
	}
	if len(t.Args) == 0 {
		return format
	}
	return fmt.Sprintf(format, Args(l, t.Args)...)
}

// Args returns the arguments of a format for a reader of the language l: a Text or
// an error becomes its sentence, everything else stays.
func Args(l tool.Locale, args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case tool.Text:
			out[i] = In(l, a)
		case error:
			out[i] = In(l, Of(a))
		default:
			out[i] = a
		}
	}
	return out
}

// An Error is an error whose sentence is a Text.
type Error struct {
	Text tool.Text
	err  error // the argument of %w; nil: none
}

// Errorf is fmt.Errorf with a Text: the format is English and the key of its
// translations. It takes one %w at most.
func Errorf(format string, args ...any) error {
	return &Error{tool.Text{Format: strings.ReplaceAll(format, "%w", "%s"), Args: args}, errors.Unwrap(fmt.Errorf(format, args...))}
}

// Error returns the sentence in English.
func (e *Error) Error() string { return e.Text.String() }

// Unwrap returns the argument of %w, nil if there is none.
func (e *Error) Unwrap() error { return e.err }

// Reason returns what the system says of a file, without the operation and the path,
// which the sentence around it names. Any other error is returned as it is.
func Reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// Of returns the sentence of an error. An error that has none is one Text without
// arguments: its own English words.
func Of(err error) tool.Text {
	switch e := err.(type) {
	case nil:
		return tool.Text{}
	case *Error:
		return e.Text
	case interface{ MsgText() tool.Text }:
		return e.MsgText()
	case interface{ Text() tool.Text }: // *agent.ModelError
		return e.Text()
	case *tool.Error:
		return ofTool(e)
	case *fs.PathError:
		return tool.Text{Format: "%s %s: %v", Args: []any{e.Op, e.Path, e.Err}}
	case *syntax.Error:
		return tool.Text{Format: "%v: `%s`", Args: []any{tool.Text{Format: e.Code.String()}, e.Expr}}
	case *strconv.NumError: // the sentence around it names the value
		return tool.Text{Format: e.Err.Error()}
	}
	return tool.Text{Format: err.Error()}
}

func ofTool(e *tool.Error) tool.Text {
	msg, hint := texts(e)
	if hint.IsZero() {
		return msg
	}
	return tool.Text{Format: "%v; %v", Args: []any{msg, hint}}
}

func texts(e *tool.Error) (msg, hint tool.Text) {
	msg, hint = e.MsgText, e.HintText
	if msg.IsZero() {
		msg = tool.Text{Format: e.Msg}
	}
	if hint.IsZero() {
		hint = tool.Text{Format: e.Hint}
	}
	return msg, hint
}

// ToolError returns a copy of e in the language l; nil for nil.
func ToolError(l tool.Locale, e *tool.Error) *tool.Error {
	if e == nil || l != tool.Zh {
		return e
	}
	msg, hint := texts(e)
	out := *e
	out.Msg, out.Hint = In(l, msg), In(l, hint)
	return &out
}

// Clean returns t with each argument rendered by its own verb and passed through
// clean, which makes text from an untrusted source safe to show. The sentence stays
// translatable.
func Clean(t tool.Text, clean func(string) string) tool.Text {
	verbs := verbsOf(t.Format)
	if len(t.Args) == 0 || len(verbs) != len(t.Args) {
		return tool.Text{Format: clean(t.String())}
	}
	out := tool.Text{Format: t.Format}
	for i, a := range t.Args {
		switch a := a.(type) {
		case tool.Text:
			out.Args = append(out.Args, Clean(a, clean))
		case error:
			out.Args = append(out.Args, Clean(Of(a), clean))
		default:
			out.Args = append(out.Args, rendered(clean(fmt.Sprintf(verbs[i], a))))
		}
	}
	return out
}
