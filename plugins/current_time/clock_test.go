package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// noon is a Sunday.
var noon = clock{now: func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }}

func ask(t *testing.T, in string, o guest.Options) string {
	t.Helper()
	out, err := guest.Invoke(noon.tell, in, o)
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return out.Text
}

func TestTell(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
		why  string
	}{
		{`{}`, []string{"2026-11-22 12:00:00 UTC, UTC+00:00, Sunday, week 47, day 326 of the year\n", "Unix 1795348800 · 2026-11-22T12:00:00Z\n"}, "now"},
		{`{"zone":"Asia/Tokyo"}`, []string{"2026-11-22 21:00:00 Asia/Tokyo (JST), UTC+09:00"}, "an IANA name"},
		{`{"zone":"tokyo"}`, []string{"Asia/Tokyo"}, "its end"},
		{`{"zone":"new york"}`, []string{"2026-11-22 07:00:00 America/New_York (EST), UTC-05:00"}, "of two words"},
		{`{"zone":"北京"}`, []string{"2026-11-22 20:00:00 Asia/Shanghai (CST), UTC+08:00"}, "in Chinese"},
		{`{"zone":"UTC+5:30"}`, []string{"17:30:00 UTC+05:30, UTC+05:30"}, "an offset"},
		{`{"zone":"-03"}`, []string{"09:00:00 UTC-03:00, UTC-03:00"}, "a bare one"},
		{`{"at":"2027-03-03 15:00","zone":"Berlin","to":["New York","Kolkata"]}`, []string{"2027-03-03 15:00:00 Europe/Berlin (CET)", "2027-03-03 09:00:00 America/New_York (EST)", "2027-03-03 19:30:00 Asia/Kolkata (IST)"}, "other zones"},
		{`{"at":"2027-03-20 15:00","zone":"Berlin","to":["New York"]}`, []string{"2027-03-20 10:00:00 America/New_York (EDT)"}, "when only one has summer time"},
		{`{"at":"15:30","zone":"Asia/Shanghai"}`, []string{"2026-11-22 15:30:00 Asia/Shanghai"}, "a time of today"},
		{`{"at":"3 pm"}`, []string{"2026-11-22 15:00:00"}, "on a clock of twelve hours"},
		{`{"at":"1795348800","zone":"Asia/Shanghai"}`, []string{"2026-11-22 20:00:00"}, "seconds"},
		{`{"at":"2026-11-22T12:00:00+01:00"}`, []string{"2026-11-22 11:00:00 UTC"}, "RFC 3339"},
		{`{"at":"2027年3月3日 9:05","zone":"上海"}`, []string{"2027-03-03 09:05:00 Asia/Shanghai"}, "as Chinese writes it"},
		{`{"until":"2027-01-01"}`, []string{"2027-01-01 00:00:00 UTC", "that is in 39 d 12 h, 40 calendar days later\n"}, "how long until"},
		{`{"until":"2026-11-01 10:00"}`, []string{"that was 21 d 2 h ago, 21 calendar days before\n"}, "how long since"},
		{`{"at":"2026-10-24 12:00","until":"2026-10-25 12:00","zone":"Berlin"}`, []string{"that is in 1 d 1 h, on the next day"}, "over the end of summer time"},
		{`{"until":"now"}`, []string{"that is in 0 s, on the same day"}, "no time at all"},
		{`{"until":"12:00:42"}`, []string{"that is in 42 s"}, "seconds"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got := ask(t, tt.in, guest.Options{})
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("%s: %q lacks %q", tt.in, got, w)
				}
			}
		})
	}
}

func TestChinese(t *testing.T) {
	got := ask(t, `{"zone":"上海","until":"2027-02-06"}`, guest.Options{Locale: tool.Zh})
	for _, w := range []string{"2026-11-22 20:00:00 Asia/Shanghai (CST)，UTC+08:00，星期日，第 47 周，全年第 326 天", "还有 75 天 4 小时，按日历晚 76 天"} {
		if !strings.Contains(got, w) {
			t.Errorf("%q lacks %q", got, w)
		}
	}
}

func TestDefaultZone(t *testing.T) {
	got := ask(t, `{}`, guest.Options{Config: map[string]string{"default_zone": "Europe/Paris"}})
	if !strings.Contains(got, "13:00:00 Europe/Paris") {
		t.Error(got)
	}
}

func TestRefusals(t *testing.T) {
	for _, in := range []string{
		`{"zone":"Atlantis"}`, `{"zone":"Local"}`, `{"zone":"../etc/passwd"}`, `{"zone":"UTC+25"}`, `{"zone":"UTC+5:75"}`, `{"to":["Nowhere"]}`,
		`{"at":"soon"}`, `{"at":"2027-02-30"}`, `{"at":"25:00"}`, `{"until":"31 June 2027"}`,
	} {
		_, err := guest.Invoke(noon.tell, in, guest.Options{})
		if e, ok := err.(*tool.Error); !ok || e.Code != tool.BadArgs || e.Hint == "" {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestEveryZone: every name of the list is found, and so is every place.
func TestEveryZone(t *testing.T) {
	n := 0
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		l, err := zone(name)
		if err != nil || l.String() != name {
			t.Errorf("%q: %v, %v", name, l, err)
		}
		n++
	}
	if n < 400 {
		t.Errorf("%d zones", n)
	}
	for line := range strings.Lines(strings.TrimSpace(places)) {
		words, iana, _ := strings.Cut(strings.TrimSpace(line), "=")
		for word := range strings.SplitSeq(words, "|") {
			if l, err := zone(strings.ToUpper(word)); err != nil || l.String() != iana {
				t.Errorf("%q: %v, %v", word, l, err)
			}
		}
	}
}

func FuzzTell(f *testing.F) {
	f.Add("Asia/Tokyo", "2027-03-03 15:00", "now")
	f.Add("UTC+8", "@1795348800", "3pm")
	f.Fuzz(func(t *testing.T, zone, at, until string) {
		in, err := json.Marshal(args{Zone: zone, At: at, Until: until})
		if err != nil {
			t.Fatal(err)
		}
		out, err := guest.Invoke(noon.tell, string(in), guest.Options{})
		if err == nil && out.Text == "" {
			t.Error("an empty answer")
		}
	})
}
