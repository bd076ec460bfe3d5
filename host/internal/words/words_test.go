package words

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func open(t *testing.T) *Book {
	t.Helper()
	b, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every pair is English and Chinese and fills in the same places.
func TestPairs(t *testing.T) {
	b := open(t)
	han, place := regexp.MustCompile(`\p{Han}`), regexp.MustCompile(verb)
	for en, zh := range b.texts {
		if letters := regexp.MustCompile(`[A-Za-z]{2}`); !letters.MatchString(place.ReplaceAllString(en, "")) {
			continue // punctuation alone, which joins other texts
		}
		if han.MatchString(en) || !han.MatchString(zh) && !strings.ContainsAny(zh, "、：，") {
			t.Errorf("%q and %q are not English and Chinese", en, zh)
		}
		if en != strings.TrimSpace(en) {
			t.Errorf("%q has white space around it, which is not looked up", en)
		}
		kinds, next := place.FindAllStringSubmatch(en, -1), 0
		used := make([]bool, len(kinds))
		for _, p := range place.FindAllStringSubmatch(zh, -1) {
			if p[1] != "" {
				next = int(p[1][0] - '1')
			}
			if next >= len(kinds) || kinds[next][2] != p[2] {
				t.Errorf("%q fills in other places than %q", zh, en)
				break
			}
			used[next] = true
			next++
		}
		if slices.Contains(used, false) {
			t.Errorf("%q leaves out a place of %q", zh, en)
		}
	}
}

func TestText(t *testing.T) {
	b := &Book{texts: map[string]string{"nothing waits": "没有等待的", "it asks for %s": "它索取 %s", "%s of %s": "%[2]s 的 %[1]s", "cut at %d %%": "截断于 %d %%", "no file %q (%s)": "没有 %q（%s）"}}
	for en, zh := range b.texts {
		if s := newShape(en, zh); s != nil {
			b.shapes = append(b.shapes, s)
		}
	}
	for en, want := range map[string]string{
		"nothing waits":               "没有等待的",
		"\n nothing waits\n":          "\n 没有等待的\n",
		"nothing else":                "nothing else",
		"it asks for /work":           "它索取 /work",
		"it asks for nothing waits":   "它索取 没有等待的",
		"one of two":                  "one of two", // too few letters to be known by
		"cut at 12 %":                 "截断于 12 %",
		`no file "a (b)" (gone)`:      `没有 "a (b)"（gone）`,
		`no file a (gone)`:            "no file a (gone)",
		"":                            "",
		"it asks for it asks for one": "它索取 它索取 one",
	} {
		if got := b.Text(en); got != want {
			t.Errorf("%q is %q; want %q", en, got, want)
		}
	}
	if got := b.Format("%s of %s\n"); got != "%[2]s 的 %[1]s\n" {
		t.Errorf("the format is %q", got)
	}
}

// Arguments never change which text is found, and come out unchanged.
func FuzzPlaces(f *testing.F) {
	b, err := Open()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("/tmp/x", "permission denied")
	f.Add("%s", "\n")
	f.Fuzz(func(t *testing.T, file, why string) {
		if strings.TrimSpace(file) != file || strings.TrimSpace(why) != why || file == "" || why == "" || strings.Contains(file+why, " ") {
			return
		}
		got := b.Text("the archive " + file + " cannot be written: " + why)
		if want := "无法写入存档 " + file + "：" + why; got != want && !strings.Contains(file, "cannot be written: ") {
			t.Errorf("%q; want %q", got, want)
		}
	})
}
