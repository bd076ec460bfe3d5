package serverjson

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// A Secret is a variable whose value was taken out of an entry.
type Secret struct {
	Variable string
	// Value is empty if the entry has only a placeholder, such as YOUR_API_KEY: a person
	// must set the variable.
	Value string
}

// TakeSecrets replaces what looks like a secret by a reference to a variable, and returns the
// variables. server begins the names of those that have none of their own. taken reports
// whether a variable is set already to another value.
func (s *Server) TakeSecrets(server string, taken func(variable, value string) bool) []Secret {
	var out []Secret
	put := func(name, value string) string {
		if strings.ContainsAny(value, "\r\n") { // no line of .env
			return value
		}
		v := variable(name)
		if v == "" || taken(v, value) {
			v = variable(server + "_" + name)
		}
		for i := range out {
			if out[i].Variable == v && out[i].Value != value {
				v = variable(server + "_" + v)
			}
		}
		if isPlaceholder(value) {
			value = ""
		}
		out = append(out, Secret{v, value})
		return "${" + v + "}"
	}
	s.each(func(name, text string) string {
		if strings.Contains(text, "${") {
			for _, m := range reference().FindAllStringSubmatch(text, -1) {
				if m[3] == "" && m[2] != "HOME" {
					out = append(out, Secret{Variable: m[2]})
				}
			}
			return text
		}
		if bearer().MatchString(text) { // also within JSON
			return bearer().ReplaceAllStringFunc(text, func(all string) string {
				m := bearer().FindStringSubmatch(all)
				return m[1] + put(server+"_token", m[2])
			})
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			return secretURL(text, u, server, put)
		}
		if text != "" && (secretName().MatchString(name) || secretValue().MatchString(text) || name != "" && isPlaceholder(text) && !strings.Contains(wordsOnly, "|"+strings.ToLower(text)+"|")) {
			return put(name, text)
		}
		return text
	})
	return out
}

// secretURL replaces an address that has a password or a key in it.
func secretURL(text string, u *url.URL, server string, put func(name, value string) string) string {
	if _, has := u.User.Password(); has {
		return put(server+"_url", text)
	}
	for name, values := range u.Query() {
		if secretName().MatchString(name) && len(values) == 1 && values[0] != "" && strings.Contains(text, "="+values[0]) {
			text = strings.Replace(text, "="+values[0], "="+put(server+"_"+name, values[0]), 1)
		}
	}
	return text
}

var (
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[_-]|api|access|auth|secret)(key|keys|token|tokens|secret|password|passwd|passphrase|pass|pat|credential|credentials|apikey)$|^(authorization|cookie|x-api-key)$|(?i)(key|token|secret|password)(_value)?$`)
	})
	secretValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(sk|pk|rk|ghp|gho|ghu|ghs|github_pat|glpat|xox[abpr]|ntn|secret|hf|tvly|fc|figd|pat|AIza|AKIA|eyJ|npm)[-_A-Za-z0-9]{16,}`)
	})
	bearer = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`((?i:\bBearer|\bBasic|^Token)\s+)([A-Za-z0-9._~+/=*<>-]{6,})`)
	})
	exempty = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(<.*>|\[[a-z _-]+\]|\*+|\.{3,}|…|x{3,}|(your|my|insert|add|replace|enter|put)[-_ ].*|.*[-_ ]here|.*\byour[-_ ].*|.*\*{3,}.*|.*x{4,}.*|.*(\.\.\.|…)|changeme|api[-_ ]?key|token|secret|password)$`)
	})
	noVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Z0-9]+`) })
	envName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`) })
)

// wordsOnly are placeholders of secrets that may be the values of other settings.
const wordsOnly = "|api-key|apikey|api_key|api key|token|secret|password|"

// isPlaceholder reports whether a README wrote a value for the reader to replace.
func isPlaceholder(value string) bool { return exempty().MatchString(strings.TrimSpace(value)) }

func isEnvName(s string) bool { return envName().MatchString(s) }

// variable converts a name to one of a variable: API_KEY.
func variable(name string) string {
	v := strings.Trim(noVariable().ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if v != "" && v[0] <= '9' {
		v = "V_" + v
	}
	return v
}
