package toolindex

import (
	"net/url"
	"strings"
	"unicode"
)

// maxExtension bounds the letters of a file's extension.
const maxExtension = 5

// values replaces what a question gives as arguments by what it is: a path by "file
// path" and its extension, an address by "url", a mail address by "email". The parts
// of a path say nothing about the tool.
func values(query string) string {
	words := strings.Fields(query)
	for i, w := range words {
		bare := strings.Trim(w, `"'.,;:!?()<>[]{}`+"`“”")
		if kind := valueKind(bare); kind != "" {
			words[i] = kind
		}
	}
	return strings.Join(words, " ")
}

// valueKind returns what an argument is, or "" for an ordinary word.
func valueKind(word string) string {
	switch {
	case strings.Contains(word, "://"):
		return "url web " + host(word)
	case strings.Count(word, "@") == 1 && strings.Contains(word[strings.Index(word, "@"):], ".") && word[0] != '@':
		return "email address"
	case strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~/") || strings.HasPrefix(word, "./") || len(word) > 2 && word[1:3] == `:\\`:
		if ext := extension(word); ext != "" {
			return "file path " + ext
		}
		return "path directory"
	case extension(word) == "":
		return ""
	case isDomain(word):
		return "domain url website " + strings.Join(strings.Split(word, "."), " ")
	}
	if isFile(word) {
		return "file " + extension(word)
	}
	return ""
}

// host returns the words of the host of an address: "github" says which tool.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimPrefix(u.Hostname(), "www."), ".", " ")
}

// extension returns the letters after the last dot of a word, if these are few.
func extension(word string) string {
	i := strings.LastIndexByte(word, '.')
	if i <= 0 || len(word)-i-1 < 1 || len(word)-i-1 > maxExtension || strings.ContainsRune(word[i:], '/') {
		return ""
	}
	ext := strings.ToLower(word[i+1:])
	if strings.IndexFunc(ext, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) >= 0 || number(ext) {
		return ""
	}
	return ext
}

// isDomain reports whether a word ends like a domain of the internet.
func isDomain(word string) bool {
	switch extension(word) {
	case "com", "org", "net", "io", "ai", "dev", "edu", "gov", "uk", "de", "cn", "app", "info":
		return !strings.ContainsAny(word, "/_")
	}
	return false
}

// isFile reports whether a word ends like the name of a common file.
func isFile(word string) bool {
	switch extension(word) {
	case "txt", "md", "csv", "json", "pdf", "docx", "doc", "xlsx", "xls", "pptx", "ppt", "png", "jpg", "jpeg", "gif", "svg", "mp3", "mp4", "wav",
		"py", "js", "ts", "go", "rs", "html", "xml", "yaml", "yml", "toml", "log", "sql", "zip", "bib", "tex", "ipynb", "sh", "c", "h":
		return true
	}
	return false
}

// number reports whether a word has digits only.
func number(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}
