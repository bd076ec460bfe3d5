package main

import (
	"path"
	"regexp"
	"strings"
)

// kind is what a definition defines; it weighs in the ranking.
type kind int

const (
	kindType kind = iota
	kindFunc
	kindConst
)

// pattern recognises one way of defining something on one line. The group
// "name" is what is defined.
type pattern struct {
	kind kind
	re   *regexp.Regexp
}

// language is how a language's definitions look, line by line.
type language struct {
	patterns []pattern
	// What opens and closes lines that are no code.
	commentOpen, commentClose string
	// notNames are words that look like a name and are not one.
	notNames string
	// hidden says that a name is not seen outside its file or class.
	hidden func(d def) bool
}

// languageOf chooses by the file's ending; nil: none that is known.
func languageOf(file string) *language {
	switch strings.ToLower(path.Ext(file)) {
	case ".go":
		return golang
	case ".py", ".pyi":
		return python
	case ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts":
		return script
	case ".rs":
		return rust
	case ".c", ".h", ".cc", ".cpp", ".hpp":
		return clang
	}
	return nil
}

func define(k kind, expr string) pattern { return pattern{k, regexp.MustCompile(expr)} }

var (
	golang = &language{
		patterns: []pattern{
			define(kindFunc, `^func (?:\([^)]*\) )?(?P<name>[\pL_][\pL\pN_]*)`),
			define(kindType, `^type (?P<name>[\pL_][\pL\pN_]*)`),
			define(kindConst, `^(?:var|const) (?P<name>[\pL_][\pL\pN_]*)`),
		},
		commentOpen: "/*", commentClose: "*/",
		notNames: " main init _ ",
		hidden:   func(d def) bool { return d.name[0] < 'A' || d.name[0] > 'Z' },
	}
	python = &language{
		patterns: []pattern{
			define(kindType, `^\s*class (?P<name>[\pL_][\pL\pN_]*)`),
			define(kindFunc, `^\s*(?:async )?def (?P<name>[\pL_][\pL\pN_]*)`),
			define(kindConst, `^(?P<name>[A-Z][A-Z0-9_]+)\s*(?::[^=]+)?=`),
		},
		commentOpen: `"""`, commentClose: `"""`,
		notNames: " __init__ __repr__ __str__ __main__ ",
		hidden:   func(d def) bool { return d.name[0] == '_' },
	}
	script = &language{
		patterns: []pattern{
			define(kindType, `^\s*(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:class|interface|enum|namespace) (?P<name>[\w$]+)`),
			define(kindType, `^(?:export )?(?:declare )?type (?P<name>[\w$]+)[^=]*=`),
			define(kindFunc, `^\s*(?:export )?(?:default )?(?:declare )?(?:async )?function\*? ?(?P<name>[\w$]+)`),
			define(kindFunc, `^(?:export )?(?:const|let|var) (?P<name>[\w$]+)[^=]*= ?(?:async )?(?:function\b|\([^)]*\)[^=]*=>|[\w$]+ =>)`),
			define(kindFunc, `^\s+(?:public |private |protected |static |async |override |readonly )*(?P<name>[\w$]+)\([^;]*\)[^;=]*\{\s*$`),
			define(kindConst, `^export const (?P<name>[\w$]+)`),
		},
		commentOpen: "/*", commentClose: "*/",
		notNames: " if for while switch catch return function constructor ",
		hidden: func(d def) bool {
			return !strings.HasPrefix(d.text, "export ") && !d.inner || strings.HasPrefix(d.text, "private ")
		},
	}
	rust = &language{
		patterns: []pattern{
			define(kindType, `^\s*(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|union|type) (?P<name>\w+)`),
			define(kindFunc, `^\s*(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern "C" )*fn (?P<name>\w+)`),
			define(kindFunc, `^\s*macro_rules! (?P<name>\w+)`),
			define(kindConst, `^\s*(?:pub(?:\([^)]*\))? )?(?:const|static) (?:mut )?(?P<name>[A-Z]\w*)`),
		},
		commentOpen: "/*", commentClose: "*/",
		notNames: " main ",
		hidden:   func(d def) bool { return !strings.HasPrefix(d.text, "pub") },
	}
	clang = &language{
		patterns: []pattern{
			define(kindType, `^\s*(?:typedef )?(?:struct|enum|union|class) (?P<name>\w+)[^;()]*$`),
			define(kindType, `^typedef [^;{]*\b(?P<name>\w+);`),
			define(kindConst, `^#\s*define (?P<name>\w+)`),
			define(kindFunc, `^(?:[A-Za-z_][\w:<>]*[\s*&]+)+(?P<name>[A-Za-z_][\w:~]*)\([^;]*\{?\s*$`),
			define(kindFunc, `^(?:[A-Za-z_][\w:<>]*[\s*&]+)+(?P<name>[A-Za-z_]\w*)\([^;{]*\);`),
		},
		commentOpen: "/*", commentClose: "*/",
		notNames: " if for while switch return else sizeof main ",
		hidden:   func(d def) bool { return strings.HasPrefix(d.text, "static ") },
	}
)

const maxSignature = 120 // characters of a definition's line

// definitions finds what a source file defines.
func (l *language) definitions(src string) []def {
	var found []def
	comment := false
	line := 0
	for text := range strings.Lines(src) {
		line++
		text = strings.TrimRight(text, "\n")
		if comment {
			comment = !strings.Contains(text, l.commentClose)
			continue
		}
		if at := strings.Index(text, l.commentOpen); at >= 0 && strings.TrimSpace(text[:at]) == "" {
			comment = !strings.Contains(text[at+len(l.commentOpen):], l.commentClose)
			continue
		}
		if len(text) > 2000 {
			continue // made by a program
		}
		if d, ok := l.match(text); ok {
			d.line = line
			found = append(found, d)
		}
	}
	return found
}

func (l *language) match(text string) (def, bool) {
	for _, p := range l.patterns {
		m := p.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		name := m[p.re.SubexpIndex("name")]
		if strings.Contains(l.notNames, " "+name+" ") {
			return def{}, false
		}
		return def{name: name, kind: p.kind, text: signature(p.kind, text), inner: text[0] == ' ' || text[0] == '\t'}, true
	}
	return def{}, false
}

// signature is a definition's line without its body or what opens it. The
// body of a type that fits its line stays: it is what the type is.
func signature(k kind, line string) string {
	s := strings.TrimSpace(line)
	if head, _, ok := strings.Cut(s, " { "); ok && k == kindFunc {
		s = head
	}
	s = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(s, "{"), ":"), " ")
	if r := []rune(s); len(r) > maxSignature {
		return string(r[:maxSignature-1]) + "…"
	}
	return s
}
