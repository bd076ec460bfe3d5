package rules

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chineseTerms says what each thing is called in Chinese, by the words that it is
// not called. What a model reads about the archive says 存档 and 会话, so the
// page, the command line and the docs do.
var chineseTerms = map[string]struct {
	say string
	// but are the phrases in which the word means something else.
	but []string
}{
	"归档": {"存档", nil},
	// 对话 is talking; what is stored and has an id is a 会话.
	"对话": {"会话", []string{"模型对话", "轮对话", "自由对话", "地对话", "在对话中"}},
}

// Every Chinese text calls a thing by the same name.
func TestChineseTerms(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == ".git" || path == "agent/internal/tokens/testdata/samples" || path == "bin" || d.Name() == "node_modules" || d.Name() == "target"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".md", ".toml", ".js", ".html", ".json", ".txt"}, filepath.Ext(path)):
			return nil
		}
		read++
		return checkTerms(t, path)
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 100 {
		t.Errorf("%d files were read", read)
	}
}

func checkTerms(t *testing.T, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		for word, term := range chineseTerms {
			text := lines.Text()
			for _, phrase := range term.but {
				text = strings.ReplaceAll(text, phrase, "")
			}
			if strings.Contains(text, word) {
				t.Errorf("%s:%d says %s; say %s", path, n, word, term.say)
			}
		}
	}
	return lines.Err()
}
