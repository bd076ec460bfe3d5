package main

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a guest has no files to read zones from

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// zoneNames are the IANA names with a place in them, one a line, as in the
// zones that Go carries.
//
//go:embed zones.txt
var zoneNames string

// places are names that people use and that end no IANA name.
const places = `
beijing|peking|北京|上海|深圳|广州|china|中国|北京时间=Asia/Shanghai
香港|hongkong=Asia/Hong_Kong
台北|taiwan|台湾=Asia/Taipei
东京|東京|大阪|osaka|japan|日本=Asia/Tokyo
首尔|韩国|korea=Asia/Seoul
新加坡=Asia/Singapore
曼谷=Asia/Bangkok
delhi|new delhi|mumbai|bangalore|india|新德里|孟买|印度=Asia/Kolkata
迪拜|abu dhabi=Asia/Dubai
莫斯科=Europe/Moscow
巴黎|france=Europe/Paris
柏林|munich|frankfurt|hamburg|germany|德国=Europe/Berlin
伦敦|uk|england|英国=Europe/London
geneva|switzerland=Europe/Zurich
barcelona|spain=Europe/Madrid
milan|italy=Europe/Rome
纽约|boston|washington|washington dc|miami|atlanta|philadelphia|eastern|et=America/New_York
芝加哥|houston|dallas|austin|central|ct=America/Chicago
denver|salt lake city|mountain|mt=America/Denver
洛杉矶|旧金山|西雅图|san francisco|seattle|san diego|las vegas|silicon valley|pacific|pt=America/Los_Angeles
montreal|ottawa|多伦多=America/Toronto
rio|rio de janeiro|圣保罗=America/Sao_Paulo
悉尼|canberra=Australia/Sydney
墨尔本=Australia/Melbourne
wellington=Pacific/Auckland
开罗=Africa/Cairo
cape town=Africa/Johannesburg
utc|gmt|z|zulu|世界时|协调世界时=UTC
`

var offset = regexp.MustCompile(`^(?i:utc|gmt)? ?([+-])(\d{1,2})(?::?(\d{2}))?$`)

// zone finds a time zone by its IANA name, by a place, or by its offset.
func zone(name string) (*time.Location, error) {
	plain := strings.TrimSpace(name)
	if l, ok := fixed(strings.ReplaceAll(plain, "−", "-")); ok {
		return l, nil
	}
	key := fold(plain)
	for line := range strings.Lines(strings.TrimSpace(places)) {
		words, iana, _ := strings.Cut(strings.TrimSpace(line), "=")
		for word := range strings.SplitSeq(words, "|") {
			if word == key {
				return time.LoadLocation(iana)
			}
		}
	}
	for line := range strings.Lines(zoneNames) {
		iana := strings.TrimSpace(line)
		if full := fold(iana); full == key || strings.HasSuffix(full, "/"+key) {
			return time.LoadLocation(iana)
		}
	}
	// Names without a place, such as CET or EST5EDT. "Local" is no place.
	if l, err := time.LoadLocation(plain); err == nil && plain != "" && key != "local" {
		return l, nil
	}
	return nil, guest.Errorf(tool.BadArgs, "Use an IANA name such as \"Asia/Shanghai\", a large city, or an offset such as \"UTC+8\"; try the largest city of the same zone.",
		"The time zone %q is not known.", name).
		Zh("请使用 IANA 名称（如 \"Asia/Shanghai\"）、大城市名，或时差（如 \"UTC+8\"）；可以试试同一时区中最大的城市。", "未知的时区 %q。")
}

// fold makes names comparable.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(strings.TrimSpace(s)))
}

// fixed reads an offset from UTC; none is larger than 14 hours.
func fixed(s string) (*time.Location, bool) {
	m := offset.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi("0" + m[3])
	seconds := hours*3600 + minutes*60
	if seconds > 14*3600 || minutes > 59 {
		return nil, false
	}
	if m[1] == "-" {
		seconds = -seconds
	}
	return time.FixedZone("UTC"+m[1]+pad(hours)+":"+pad(minutes), seconds), true
}

func pad(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
