package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// zhPage ends the names of the Chinese pages.
const zhPage = ".zh-CN.md"

// Every page of docs exists in English and in Chinese, and both have the same headings,
// the same code and the same tables.
func TestPagesInBothLanguages(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages were found: %v", len(pages), err)
	}
	for _, page := range pages {
		english := strings.TrimSuffix(strings.TrimSuffix(page, zhPage), ".md") + ".md"
		chinese := strings.TrimSuffix(english, ".md") + zhPage
		if page == chinese {
			if !slices.Contains(pages, english) {
				t.Errorf("%s has no English page %s", chinese, english)
			}
			continue
		}
		if !slices.Contains(pages, chinese) {
			t.Errorf("%s has no Chinese page %s", english, chinese)
			continue
		}
		comparePages(t, english, chinese)
		checkChinese(t, chinese)
	}
}

func comparePages(t *testing.T, english, chinese string) {
	t.Helper()
	en, zh := readPage(t, english), readPage(t, chinese)
	for _, part := range []struct {
		what   string
		en, zh []string
	}{{"heading", en.headings, zh.headings}, {"code block", en.code, zh.code}, {"table", en.tables, zh.tables}} {
		if len(part.en) != len(part.zh) {
			t.Errorf("%s has %d of: %s; %s has %d", english, len(part.en), part.what, chinese, len(part.zh))
			continue
		}
		for i := range part.en {
			if part.en[i] != part.zh[i] {
				t.Errorf("%s, %s %d, is not that of %s:\n%s\n%s", chinese, part.what, i+1, english, part.zh[i], part.en[i])
			}
		}
	}
	for _, p := range []struct{ page, link, text string }{
		{english, "[中文](" + filepath.Base(chinese) + ")", en.text}, {chinese, "[English](" + filepath.Base(english) + ")", zh.text},
	} {
		if lines := strings.SplitN(p.text, "\n", 4); len(lines) < 4 || lines[2] != p.link {
			t.Errorf("the third line of %s is not %s", p.page, p.link)
		}
	}
}

// A docPage is what both languages of a page have in common, and its text.
type docPage struct {
	text     string
	headings []string // the marks: "##"
	code     []string // the language and the lines, without comments
	tables   []string // the number of rows
	prose    []string // paragraphs, items and cells
}

var (
	fenceLine = regexp.MustCompile("^ *(`{3,})([^`]*)$")
	heading   = regexp.MustCompile(`^(#+) `)
	// comment is what may be translated in code.
	comment = regexp.MustCompile(`(^|\s+)(#|//) .*$`)
)

func readPage(t *testing.T, path string) docPage {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := docPage{text: string(text)}
	fence, rows, paragraph := "", 0, ""
	var block []string
	endParagraph := func() {
		p.prose, paragraph = append(p.prose, paragraph), ""
	}
	for _, line := range append(strings.Split(p.text, "\n"), "") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case fence != "" && m != nil && m[1] == fence && m[2] == "":
			p.code, fence, block = append(p.code, codeOf(block)), "", nil
			continue
		case fence != "":
			block = append(block, line)
			continue
		}
		if !strings.HasPrefix(line, "|") && rows > 0 {
			p.tables, rows = append(p.tables, fmt.Sprint(rows, " rows")), 0
		}
		switch h := heading.FindStringSubmatch(line); {
		case m != nil:
			fence, block = m[1], []string{m[2]}
			endParagraph()
		case h != nil:
			p.headings = append(p.headings, h[1])
			endParagraph()
		case strings.HasPrefix(line, "|"):
			rows++
			p.prose = append(p.prose, strings.Split(line, "|")...)
		case strings.TrimSpace(line) == "":
			endParagraph()
		case strings.HasPrefix(line, "- "):
			endParagraph()
			paragraph = line
		default:
			paragraph += "\n" + line
		}
	}
	return p
}

// codeOf returns a block as both languages have it: without comments, and of a picture
// only the number of its lines.
func codeOf(block []string) string {
	if text := strings.Join(block, "\n"); strings.ContainsAny(text, "┌├▼►") {
		return fmt.Sprintf("%s, a picture of %d lines", block[0], len(block))
	}
	lines := slices.Clone(block)
	for i, line := range lines {
		lines[i] = strings.TrimRight(comment.ReplaceAllString(line, ""), " ")
	}
	return strings.Join(lines, "\n")
}

var (
	// notProse are code and the targets of links, which have no language.
	notProse    = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|https?://\\S+|<!--.*?-->")
	englishWord = regexp.MustCompile(`[A-Za-z][a-z'’]+`)
)

// maxEnglish is how many English words a paragraph or a cell without Chinese may have:
// names of products and tools.
const maxEnglish = 5

// checkChinese reports paragraphs in English, and links to English pages that exist in
// Chinese.
func checkChinese(t *testing.T, path string) {
	t.Helper()
	p := readPage(t, path)
	for _, text := range p.prose {
		words := englishWord.FindAllString(notProse.ReplaceAllString(text, " "), -1)
		if len(words) > maxEnglish && !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s has a paragraph in English: %s", path, text)
		}
	}
	for i, line := range strings.Split(p.text, "\n") {
		for _, m := range regexp.MustCompile(`\]\(([\w-]+)\.md[)#]`).FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat("docs/" + m[1] + zhPage); err == nil && i != 2 {
				t.Errorf("%s:%d links to %s.md; link to its Chinese page", path, i+1, m[1])
			}
		}
	}
}
