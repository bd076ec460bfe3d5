package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

type args struct {
	Zone  string   `json:"zone"`
	At    string   `json:"at"`
	To    []string `json:"to"`
	Until string   `json:"until"`
}

// A clock tells the time by now.
type clock struct{ now func() time.Time }

func (c clock) tell(call *guest.Call, in args) (guest.Result, error) {
	if in.Zone == "" {
		in.Zone, _ = call.Config("default_zone")
	}
	if in.Zone == "" {
		in.Zone = "UTC"
	}
	here, err := zone(in.Zone)
	if err != nil {
		return guest.Result{}, err
	}
	now := c.now().In(here)
	at, err := moment(in.At, now)
	if err != nil {
		return guest.Result{}, err
	}
	w := &writer{say: call.Say}
	w.line(at)
	for _, name := range in.To {
		there, err := zone(name)
		if err != nil {
			return guest.Result{}, err
		}
		w.line(at.In(there))
	}
	w.print("Unix %d · %s\n", at.Unix(), at.UTC().Format("2006-01-02T15:04:05Z"))
	if in.Until != "" {
		until, err := moment(in.Until, now)
		if err != nil {
			return guest.Result{}, err
		}
		w.line(until)
		w.distance(at, until)
	}
	return guest.Text(w.String()), nil
}

// layouts are the ways in which a time may be written; those without a zone
// are in the zone of the call.
const layouts = "2006-01-02T15:04:05Z07:00|2006-01-02T15:04Z07:00|2006-01-02 15:04:05Z07:00|2006-01-02 15:04:05 Z07:00|2006-01-02 15:04 Z07:00|" +
	"2006-01-02T15:04:05|2006-01-02T15:04|2006-1-2 15:04:05|2006-1-2 15:04|2006-1-2|2006/1/2 15:04:05|2006/1/2 15:04|2006/1/2|2.1.2006 15:04|2.1.2006|" +
	"2 January 2006 15:04|2 January 2006|January 2, 2006 15:04|January 2, 2006|2 Jan 2006 15:04|2 Jan 2006|Jan 2, 2006|Mon, 02 Jan 2006 15:04:05 -0700|Mon, 02 Jan 2006 15:04:05 MST|" +
	"2006年1月2日 15:04|2006年1月2日15:04|2006年1月2日15点04分|2006年1月2日15点|2006年1月2日"

// onlyTime are the ways to write a time of today.
const onlyTime = "15:04:05|15:04|3:04 PM|3:04PM|3 PM|3PM|15点04分|15点"

var unix = regexp.MustCompile(`^@?-?\d{9,11}$`)

// moment reads a time; an empty one is now.
func moment(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "" || strings.EqualFold(s, "now") || s == "现在":
		return now, nil
	case unix.MatchString(s):
		n, err := strconv.ParseInt(strings.TrimPrefix(s, "@"), 10, 64)
		return time.Unix(n, 0).In(now.Location()), err
	}
	for layout := range strings.SplitSeq(layouts, "|") {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t.In(now.Location()), nil
		}
	}
	for layout := range strings.SplitSeq(onlyTime, "|") {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			y, m, d := now.Date()
			return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, now.Location()), nil
		}
	}
	return time.Time{}, guest.Errorf(tool.BadArgs, "Write it as 2027-03-03 15:00, or as 2027-03-03T15:00:00+01:00.", "The time %q cannot be read.", s).
		Zh("请写成 2027-03-03 15:00 或 2027-03-03T15:00:00+01:00。", "无法识别时间 %q。")
}

// writer puts times into lines.
type writer struct {
	strings.Builder
	say func(en, zh string) string
}

func (w *writer) print(format string, a ...any) { fmt.Fprintf(w, format, a...) }

// line is one moment in one zone.
func (w *writer) line(t time.Time) {
	_, week := t.ISOWeek()
	name := t.Location().String()
	if short := t.Format("MST"); short != name && strings.Trim(short, "+-0123456789") != "" {
		name += " (" + short + ")"
	}
	w.print(w.say("%s %s, UTC%s, %s, week %d, day %d of the year\n", "%s %s，UTC%s，%s，第 %d 周，全年第 %d 天\n"),
		t.Format("2006-01-02 15:04:05"), name, t.Format("-07:00"), w.weekday(t.Weekday()), week, t.YearDay())
}

func (w *writer) weekday(d time.Weekday) string {
	return w.say(d.String(), "星期"+string([]rune("日一二三四五六")[d]))
}

// distance says how far it is from one moment to another: as it passes, and in
// days of the calendar, which is what people count.
func (w *writer) distance(from, to time.Time) {
	d := to.Sub(from)
	format := w.say("that is in %s, %s", "还有%s，%s")
	if d < 0 {
		d = -d
		format = w.say("that was %s ago, %s", "已过去%s，%s")
	}
	w.print(format+"\n", w.span(d), w.days(from, to))
}

func (w *writer) span(d time.Duration) string {
	s := int64(d / time.Second)
	var parts []string
	for _, unit := range []struct {
		seconds int64
		en, zh  string
	}{{86400, "%d d", " %d 天"}, {3600, "%d h", " %d 小时"}, {60, "%d min", " %d 分"}, {1, "%d s", " %d 秒"}} {
		if n := s / unit.seconds; n > 0 {
			parts = append(parts, fmt.Sprintf(w.say(unit.en, unit.zh), n))
		}
		s %= unit.seconds
	}
	if len(parts) == 0 {
		return w.say("0 s", " 0 秒")
	}
	return strings.Join(parts, w.say(" ", ""))
}

func (w *writer) days(from, to time.Time) string {
	date := func(t time.Time) time.Time {
		y, m, d := t.Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	n := int(date(to).Sub(date(from)) / (24 * time.Hour))
	switch {
	case n == 0:
		return w.say("on the same day", "同一天")
	case n == 1:
		return w.say("on the next day", "第二天")
	case n < 0:
		return fmt.Sprintf(w.say("%d calendar days before", "按日历早 %d 天"), -n)
	}
	return fmt.Sprintf(w.say("%d calendar days later", "按日历晚 %d 天"), n)
}
