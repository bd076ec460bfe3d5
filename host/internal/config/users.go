package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/sdk/tool"
)

// UserSettings are one user beside the operator. The token is one of three: its
// digest, a reference to a variable, or a file.
type UserSettings struct {
	TokenSHA256 string        `toml:"token_sha256" json:"-"`
	Token       string        `toml:"token" json:"-"`
	TokenFile   string        `toml:"token_file" json:"token_file,omitempty"`
	Profiles    []string      `toml:"profiles" json:"profiles,omitempty"`
	Models      []string      `toml:"models" json:"models,omitempty"`
	Tools       []string      `toml:"tools" json:"tools,omitempty"`
	DenyTools   []string      `toml:"deny_tools" json:"deny_tools,omitempty"`
	Locale      string        `toml:"locale" json:"locale,omitempty"`
	Quota       QuotaSettings `toml:"quota" json:"quota,omitzero"`

	sum    [sha256.Size]byte // of the token; zero: there is none
	reason string            // why there is none
}

// QuotaSettings bound what one user takes.
type QuotaSettings struct {
	PerMinute    int       `toml:"requests_per_minute" json:"requests_per_minute,omitempty"`
	Concurrent   int       `toml:"concurrent_turns" json:"concurrent_turns,omitempty"`
	TokensPerDay int64     `toml:"tokens_per_day" json:"tokens_per_day,omitempty"`
	CostPerDay   float64   `toml:"cost_per_day" json:"cost_per_day,omitempty"`
	Currency     string    `toml:"currency" json:"currency,omitempty"`
	ArchiveBytes ByteLimit `toml:"archive_bytes" json:"archive_bytes,omitempty"`
}

// The bounds of a token that a person made, and of a quota that is remembered
// request by request.
const (
	leastToken = 16 // characters
	mostMinute = 100_000
)

// reference alone: the file never holds a token itself.
var onlyReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`) })

// checkUsers reports what cannot be meant.
func checkUsers(s *Settings, bad func(string, string, ...string)) {
	for name, u := range s.Users {
		at := func(key ...string) []string { return append([]string{"users", name}, key...) }
		if err := daemon.CheckUserName(name); err != nil {
			bad(err.Error(), "give the user another name", at()...)
		}
		ways := 0
		for _, way := range []string{u.TokenSHA256, u.Token, u.TokenFile} {
			if way != "" {
				ways++
			}
		}
		if ways != 1 {
			bad(fmt.Sprintf("the user %s needs exactly one of token_sha256, token and token_file", name), "`weir user add` makes a token and writes its digest", at()...)
		}
		if raw, err := hex.DecodeString(u.TokenSHA256); u.TokenSHA256 != "" && (err != nil || len(raw) != sha256.Size) {
			bad("token_sha256 is no SHA-256 digest", "write its 64 hexadecimal digits, as sha256sum prints them", at("token_sha256")...)
		}
		if u.Token != "" && !onlyReference().MatchString(u.Token) {
			bad("a token does not stand in this file", `write token = "${NAME}" and set NAME in the environment or in .env, or write its token_sha256`, at("token")...)
		}
		if u.Locale != "" && u.Locale != "auto" && u.Locale != string(tool.En) && u.Locale != string(tool.Zh) {
			bad(fmt.Sprintf("locale is %q", u.Locale), "use one of: auto, en, zh", at("locale")...)
		}
		for _, p := range u.Profiles {
			if _, ok := s.Agents[p]; !ok && p != "default" {
				bad(fmt.Sprintf("there is no profile %q", p), "add [agents."+p+"], or name another", at("profiles")...)
			}
		}
		for _, m := range u.Models {
			if _, ok := s.Models[m]; !ok && m != daemon.DemoModel {
				bad(fmt.Sprintf("there is no model %q", m), "add [models."+m+"], or name another", at("models")...)
			}
		}
		if u.Quota.PerMinute > mostMinute {
			bad(fmt.Sprintf("requests_per_minute is %d", u.Quota.PerMinute), fmt.Sprintf("%d is the most; 0 means no bound", mostMinute), at("quota", "requests_per_minute")...)
		}
		if c := u.Quota.CostPerDay; math.IsNaN(c) || math.IsInf(c, 0) {
			bad(fmt.Sprintf("cost_per_day is %g", c), "write an amount; 0 means no bound", at("quota", "cost_per_day")...)
		}
		if len(u.Quota.Currency) > 8 {
			bad(fmt.Sprintf("currency is %q", u.Quota.Currency), `write its letters, for example "USD" or "CNY"`, at("quota", "currency")...)
		}
	}
}

// digestTokens takes the tokens out of s and leaves their digests. A token that
// is missing keeps one user out, and weir running.
func digestTokens(s *Settings, config string) {
	for name, u := range s.Users {
		u.sum, u.reason = [sha256.Size]byte{}, ""
		given := u.Token
		u.Token = ""
		switch {
		case u.TokenSHA256 != "":
			if raw, err := hex.DecodeString(u.TokenSHA256); err == nil && len(raw) == sha256.Size {
				copy(u.sum[:], raw)
			}
			s.Users[name] = u
			continue
		case u.TokenFile != "":
			if !filepath.IsAbs(u.TokenFile) {
				u.TokenFile = filepath.Join(filepath.Dir(config), u.TokenFile)
			}
			text, err := os.ReadFile(u.TokenFile)
			if err != nil {
				u.reason = fmt.Sprintf("the file %s cannot be read: %s", u.TokenFile, Reason(err))
			}
			given = string(text)
		}
		given = strings.TrimSpace(given)
		switch n := utf8.RuneCountInString(given); {
		case u.reason != "":
		case n == 0:
			u.reason = "its variable or file is empty"
		case n < leastToken:
			u.reason = fmt.Sprintf("the token has %d characters, and %d are the least", n, leastToken)
		default:
			u.sum = sha256.Sum256([]byte(given))
		}
		s.Users[name] = u
	}
}

// tokenless warns of users who cannot come in.
func tokenless(list map[string]UserSettings) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if why := list[name].reason; why != "" {
			out = append(out, fmt.Sprintf("the user %s cannot come in: %s", name, why))
		}
	}
	return out
}

// tokenFiles are what no tool may read.
func tokenFiles(list map[string]UserSettings) []string {
	var out []string
	for _, u := range list {
		if u.TokenFile != "" {
			out = append(out, u.TokenFile)
		}
	}
	slices.Sort(out)
	return out
}
