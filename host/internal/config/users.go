package config

import (
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// UserSettings are one user beside the operator. Exactly one of the first three
// fields says where the token is: its digest, a reference to a variable, or a file.
type UserSettings struct {
	TokenSHA256 string        `toml:"token_sha256" json:"-"`
	Token       string        `toml:"token" json:"-"`
	TokenFile   string        `toml:"token_file" json:"token_file,omitempty"`
	Profiles    []string      `toml:"profiles" json:"profiles,omitempty"`
	Models      []string      `toml:"models" json:"models,omitempty"`
	Tools       []string      `toml:"tools" json:"tools,omitempty"`
	DenyTools   []string      `toml:"deny_tools" json:"deny_tools,omitempty"`
	MCPTools    string        `toml:"mcp_tools" json:"mcp_tools,omitempty"`
	Locale      string        `toml:"locale" json:"locale,omitempty"`
	Quota       QuotaSettings `toml:"quota" json:"quota,omitzero"`

	sum    [sha256.Size]byte // the digest of the token; zero: there is no token
	reason tool.Text         // why there is no token
}

// QuotaSettings are the quota of one user. 0 is no bound, and a negative number
// allows nothing.
type QuotaSettings struct {
	PerMinute    int       `toml:"requests_per_minute" json:"requests_per_minute,omitempty"`
	Concurrent   int       `toml:"concurrent_turns" json:"concurrent_turns,omitempty"`
	TokensPerDay int64     `toml:"tokens_per_day" json:"tokens_per_day,omitempty"`
	CostPerDay   float64   `toml:"cost_per_day" json:"cost_per_day,omitempty"`
	Currency     string    `toml:"currency" json:"currency,omitempty"`
	ArchiveBytes ByteLimit `toml:"archive_bytes" json:"archive_bytes,omitempty"`
}

// minToken is the minimum length of a token that a person wrote. maxPerMinute bounds
// a quota whose requests are remembered one by one.
const (
	minToken     = 16 // characters
	maxPerMinute = 100_000
)

// onlyReference matches a reference to a variable and nothing else: the file must not
// contain the token itself.
var onlyReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`) })

// checkUsers reports invalid users.
func checkUsers(s *Settings, bad report) {
	for name, u := range s.Users {
		at := func(key ...string) []string { return append([]string{"users", name}, key...) }
		if err := daemon.CheckUserName(name); err != nil {
			bad(msg.Of(err), tool.Textf("give the user another name"), at()...)
		}
		ways := 0
		for _, way := range []string{u.TokenSHA256, u.Token, u.TokenFile} {
			if way != "" {
				ways++
			}
		}
		if ways != 1 {
			bad(tool.Textf("the user %s needs exactly one of token_sha256, token and token_file", name), tool.Textf("`weir user add` makes a token and writes its digest"), at()...)
		}
		if raw, err := hex.DecodeString(u.TokenSHA256); u.TokenSHA256 != "" && (err != nil || len(raw) != sha256.Size) {
			bad(tool.Textf("token_sha256 is no SHA-256 digest"), tool.Textf("write its 64 hexadecimal digits, as sha256sum prints them"), at("token_sha256")...)
		}
		if u.Token != "" && !onlyReference().MatchString(u.Token) {
			bad(tool.Textf("the token itself must not be in this file"), tool.Textf(`write token = "${NAME}" and set NAME in the environment or in .env, or write its token_sha256`), at("token")...)
		}
		if u.Locale != "" && u.Locale != "auto" && u.Locale != string(tool.En) && u.Locale != string(tool.Zh) {
			bad(tool.Textf("locale is %q", u.Locale), tool.Textf("use one of: auto, en, zh"), at("locale")...)
		}
		for _, p := range u.Profiles {
			if _, ok := s.Agents[p]; !ok && p != "default" {
				bad(tool.Textf("there is no profile %q", p), tool.Textf("add [agents.%s], or name another", p), at("profiles")...)
			}
		}
		for _, m := range u.Models {
			if _, ok := s.Models[m]; !ok && m != daemon.DemoModel {
				bad(tool.Textf("there is no model %q", m), tool.Textf("add [models.%s], or name another", m), at("models")...)
			}
		}
		if u.Quota.PerMinute > maxPerMinute {
			bad(tool.Textf("requests_per_minute is %d", u.Quota.PerMinute), tool.Textf("%d is the most; 0 means no bound", maxPerMinute), at("quota", "requests_per_minute")...)
		}
		if c := u.Quota.CostPerDay; math.IsNaN(c) || math.IsInf(c, 0) {
			bad(tool.Textf("cost_per_day is %g", c), tool.Textf("write an amount; 0 means no bound"), at("quota", "cost_per_day")...)
		}
		if len(u.Quota.Currency) > 8 {
			bad(tool.Textf("currency is %q", u.Quota.Currency), tool.Textf(`write its letters, for example "USD" or "CNY"`), at("quota", "currency")...)
		}
	}
}

// digestTokens replaces the tokens in s by their digests. A user whose token is missing
// cannot log in; weir runs on.
func digestTokens(s *Settings, config string) {
	for name, u := range s.Users {
		u.sum, u.reason = [sha256.Size]byte{}, tool.Text{}
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
				u.reason = tool.Textf("the file %s cannot be read: %s", u.TokenFile, msg.Reason(err))
			}
			given = string(text)
		}
		given = strings.TrimSpace(given)
		switch n := utf8.RuneCountInString(given); {
		case !u.reason.IsZero():
		case n == 0:
			u.reason = tool.Textf("its variable or file is empty")
		case n < minToken:
			u.reason = tool.Textf("the token has %d characters; the minimum is %d", n, minToken)
		default:
			u.sum = sha256.Sum256([]byte(given))
		}
		s.Users[name] = u
	}
}

// usersWithoutToken returns a warning for each user who cannot log in.
func usersWithoutToken(list map[string]UserSettings) []tool.Text {
	var out []tool.Text
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if why := list[name].reason; !why.IsZero() {
			out = append(out, tool.Textf("the user %s cannot log in: %v", name, why))
		}
	}
	return out
}

// tokenFiles returns the files with tokens: no tool may read them.
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
