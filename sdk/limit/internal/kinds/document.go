package kinds

import "strings"

// beginning is how much of a text decides whether it is a document.
const beginning = 16 << 10

// document reports whether text is prose, markup, a table, or source code: what
// looks like an error there is quoted.
func document(text string) bool {
	if len(text) > beginning {
		text = text[:beginning]
	}
	lines, signs := 0, 0
	for line := range strings.Lines(text) {
		lines++
		if isDocument(strings.TrimRight(line, " \t\r\n")) {
			signs++
		}
	}
	return signs >= 3 && signs*40 >= lines
}

// isDocument reports whether a line is of the kind that begins the parts of a
// document or of a source file, and that tools do not print.
func isDocument(line string) bool {
	if line == "" {
		return false
	}
	switch line[0] {
	case '#':
		return strings.HasPrefix(line, "#include") || strings.TrimLeft(line, "#") != "" && strings.TrimLeft(line, "#")[0] == ' '
	case '|':
		return len(line) > 1 && line[len(line)-1] == '|'
	case '`', '~':
		return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
	case '<':
		return line[len(line)-1] == '>'
	case '/':
		return strings.HasPrefix(line, "// ") || strings.HasPrefix(line, "/*")
	case '}':
		return len(line) <= 2
	case '"':
		return strings.Contains(line, `" = "`)
	}
	for _, word := range beginnings {
		if strings.HasPrefix(line, word) {
			return true
		}
	}
	return false
}

// beginnings are the first words of lines in source code.
var beginnings = [...]string{
	"package ", "import ", "from ", "func ", "def ", "class ", "fn ", "pub ", "use ", "mod ", "impl ", "const ", "let ", "var ", "type ",
	"export ", "function ", "async ", "struct ", "enum ", "static ", "public ", "private ", "namespace ", "using ", "@",
}
