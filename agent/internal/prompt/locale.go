package prompt

import (
	"strings"
	"unicode"

	"github.com/weirhost/weir/sdk/tool"
)

// DetectLocale tells the language of a question: Chinese when it has at least
// as many Chinese characters as words in Latin letters, English otherwise.
// Names of files and tools inside a Chinese question therefore do not turn it
// into an English one, nor does a quoted Chinese word the reverse. A text with
// Japanese or Korean syllables is not Chinese.
func DetectLocale(text string) tool.Locale {
	var han, syllables, words int
	for _, field := range strings.Fields(text) {
		latin, chinese := false, false
		for _, r := range field {
			switch {
			case unicode.Is(unicode.Han, r):
				han++
				chinese = true
			case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
				syllables++
			case unicode.Is(unicode.Latin, r):
				latin = true
			}
		}
		if latin && !chinese {
			words++
		}
	}
	if han > 0 && han >= words && syllables*4 < han {
		return tool.Zh
	}
	return tool.En
}
