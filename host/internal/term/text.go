package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/weirhost/weir/sdk/limit"
)

// OneLine returns s on one line, cut to most characters.
func OneLine(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// FirstLine returns s up to its first line break.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Visible returns a text of a model or a plugin on one line of at most most
// characters, with every character that could steer a terminal made visible.
func Visible(s string, most int) string { return OneLine(limit.Visible(s), most) }

// Plain returns a text of a plugin with every control and format character
// replaced: a terminal would obey or hide them. Line breaks and tabs stay.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Calm removes the control and direction characters of a model's text. They could
// hide the question that a person is asked, or imitate one. Line breaks and tabs
// stay.
func Calm(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}

// OrDash returns v, or a dash if v is empty.
func OrDash[T ~string](v T) string {
	if v == "" {
		return "–"
	}
	return string(v)
}

// Grouped returns n with its digits in groups of three.
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent returns part as a percentage of whole, or a dash if whole is 0.
func Percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %%", part*100/whole)
}

// Money returns an amount with two decimals, and an amount below 1 with two
// significant digits.
func Money(v float64) string {
	if v >= 1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	digits := 2
	for x := v; x > 0 && x < 0.1 && digits < 9; x *= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Milliseconds returns a duration in milliseconds for people: "350 ms", "2.5 s" or
// "1:05 min".
func Milliseconds(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 60_000:
		return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
	}
	d := (time.Duration(ms) * time.Millisecond).Round(time.Second)
	return fmt.Sprintf("%d:%02d min", int(d.Minutes()), int(d.Seconds())%60)
}

// Duration returns a duration with the precision at which people compare
// measurements.
func Duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// Size returns the size of a file, from a number of bytes.
func Size(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// ShortID returns the last characters of an id: ids that were made in the same
// weeks begin alike.
func ShortID(uuid string) string { return uuid[max(0, len(uuid)-4):] }
