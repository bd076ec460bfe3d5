package author

import (
	"io/fs"
	"slices"
	"strings"
)

// described begins the comment above the sentence of a template's tool.
const described = "# The model decides by this sentence"

// sharedLetters is how long a part of a tool's name is that says something.
const sharedLetters = 4

// Unchanged returns the line of a manifest that describes its tool with a template's
// sentence, which fits another tool; 0: none does. The sentence fits a tool whose name
// shares a word with it.
func Unchanged(manifest, name string) int {
	sentences := sentencesOf(manifest)
	for line, sentence := range sentences {
		if slices.ContainsFunc(strings.Split(name, "_"), func(part string) bool {
			return len(part) >= sharedLetters && strings.Contains(strings.ToLower(sentence), part)
		}) {
			delete(sentences, line)
		}
	}
	files, err := fs.Glob(templates, "templates/all/*/plugin.toml.tmpl")
	if err != nil {
		return 0
	}
	for _, file := range files {
		b, err := templates.ReadFile(file)
		if err != nil {
			continue
		}
		for _, sentence := range sentencesOf(string(b)) {
			for line, written := range sentences {
				if written == sentence {
					return line
				}
			}
		}
	}
	return 0
}

// sentencesOf returns the lines of a manifest that describe tools, by their numbers.
func sentencesOf(manifest string) map[int]string {
	out, before := map[int]string{}, ""
	for i, line := range strings.Split(manifest, "\n") {
		if strings.HasPrefix(before, described) {
			out[i+1] = line
		}
		before = line
	}
	return out
}
