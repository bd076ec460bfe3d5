package toolschema

import (
	"slices"
	"strings"
)

// Rules are what a provider takes. OpenAI, Anthropic, Ollama and Gemini return them.
type Rules struct {
	// letterFirst: names of tools begin with a letter or an underscore.
	letterFirst bool
	// plainArguments: names of arguments have letters, digits, underscores, dots and
	// hyphens, at most 64.
	plainArguments bool
	// filled: objects have properties, though it may have none.
	filled bool
	// typed: every schema says its type, or has alternatives that do.
	typed bool
	// lists: type may be a list of types.
	lists bool
	// nullable: a value that may be null says so in nullable, and there is no type null.
	nullable bool
	// lone: a schema with anyOf has no other keyword.
	lone bool
	// others: an object says in additionalProperties what else it may have.
	others bool
	// texts: only strings may be listed in enum, and none of them is empty.
	texts bool
	// keywords are those that are taken, beside the ones that say of what a value consists.
	keywords func(name string) bool
	// formats are those that are taken of a type.
	formats func(kind, format string) bool
	// patterns are the expressions that are taken; nil: any.
	patterns func(string) bool
}

// OpenAI returns the rules of OpenAI's protocol: those of OpenAI itself, which wants an
// object without alternatives at the root, and properties and items wherever they belong,
// and those of the servers that are asked by it, as far as they do not contradict: DeepSeek
// wants types in alternatives, Moonshot a type in everything and none beside anyOf, Ark no
// lists of types, and llama.cpp anchored expressions without classes.
func OpenAI() Rules {
	return Rules{filled: true, others: true, typed: true, keywords: isPlain, formats: knownFormat, patterns: plainPattern}
}

// Anthropic returns the rules of Anthropic's Messages API: an object without alternatives
// at the root, valid by the draft of 2020, with plain names of arguments.
func Anthropic() Rules {
	return Rules{filled: true, others: true, lists: true, plainArguments: true, keywords: isPlain, formats: knownFormat}
}

// Ollama returns the rules of Ollama's own API, which reads a schema into fixed fields.
func Ollama() Rules {
	return Rules{filled: true, others: true, keywords: isPlain, formats: knownFormat}
}

// Gemini returns the rules of Google's API, which takes a part of the schemas of OpenAPI 3.0,
// and refuses keywords that it does not know.
func Gemini() Rules {
	return Rules{
		letterFirst: true, typed: true, nullable: true, lone: true, texts: true, formats: geminiFormat, patterns: func(string) bool { return false },
		keywords: func(name string) bool {
			return slices.Contains([]string{"description", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}, name)
		},
	}
}

// knownFormat reports whether a format is one of JSON Schema's. Others mean nothing to a
// server, and some refuse them.
func knownFormat(_, format string) bool {
	return slices.Contains([]string{
		"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference",
		"uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex",
	}, format)
}

// geminiFormat reports whether Google's API takes a format.
func geminiFormat(kind, format string) bool {
	switch kind {
	case "string":
		return format == "date-time"
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// plainPattern reports whether llama.cpp can make a grammar of an expression: it is
// anchored, and has no classes, assertions or escapes of letters.
func plainPattern(p string) bool {
	if !strings.HasPrefix(p, "^") || !strings.HasSuffix(p, "$") || strings.HasSuffix(p, `\$`) || strings.Contains(p, "(?") {
		return false
	}
	for i := 0; i+1 < len(p); i++ {
		if p[i] == '\\' {
			if i++; p[i]|0x20 >= 'a' && p[i]|0x20 <= 'z' || p[i] >= '0' && p[i] <= '9' {
				return false
			}
		}
	}
	return true
}

// toolName reports whether providers take the name of a tool.
func (r Rules) toolName(name string) bool {
	if name == "" || len(name) > maxName || r.letterFirst && !isLetter(name[0]) && name[0] != '_' {
		return false
	}
	return strings.IndexFunc(name, func(c rune) bool { return !isNameRune(c) }) < 0
}

// argumentName reports whether the provider takes the name of an argument.
func (r Rules) argumentName(name string) bool {
	if !r.plainArguments {
		return true
	}
	return name != "" && len(name) <= maxName && strings.IndexFunc(name, func(c rune) bool { return !isNameRune(c) && c != '.' }) < 0
}

// maxName is the longest name that all providers take, in bytes.
const maxName = 64

func isNameRune(c rune) bool {
	return c < 128 && (isLetter(byte(c)) || c >= '0' && c <= '9' || c == '_' || c == '-')
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
