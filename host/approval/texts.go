package approval

import (
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

const hintContinue = "continue without it and say so"

func errDenied(name string) *tool.Error {
	return tool.Errorf(tool.Denied, hintContinue, "the operator does not allow this call of %s", name)
}

func errNoPerson(s Subject, why string) *tool.Error {
	hint := tool.Textf("continue without it and say so. A person can allow it in `weir chat` or on the page, or permanently in tools.toml: [[approvals.rule]] with tool = %q and action = \"allow\"", s.Tool)
	if prefix, _, ok := strings.Cut(s.Tool, "__"); ok && s.Server {
		hint = tool.Textf("%v; tool = %q allows all tools of its server, and trust_hints = true in [mcpServers.%s] those that say they only read", hint, prefix+"__*", s.Plugin)
	}
	return tool.NewError(tool.Denied, tool.Textf("%s did not run: %s, and no person is available to ask", s.Tool, why), hint)
}

func errLater(name string) *tool.Error {
	return tool.Errorf(tool.Denied, "", "%s waits for a person's answer", name)
}

func errTimeout(name string, d time.Duration) *tool.Error {
	after := d.String()
	if strings.HasSuffix(after, "m0s") {
		after = strings.TrimSuffix(after, "0s")
	}
	return tool.Errorf(tool.Denied, hintContinue, "%s did not run: no person answered within %s", name, after)
}

func errRefused(name string) *tool.Error {
	return tool.Errorf(tool.Denied, "do not repeat it; continue without it, or ask the person what to do instead", "the person did not allow this call of %s", name)
}

func errDisconnected(name string) *tool.Error {
	return tool.Errorf(tool.Denied, "", "%s did not run: the caller disconnected", name)
}

// why returns what a tool can do and which setting asks about it, in the locale of
// the session. n is the number of the rule that matched, 0 for none.
func (g *Gate) why(s Subject, n int) string {
	var can []tool.Text
	say := func(format string, args ...any) { can = append(can, tool.Textf(format, args...)) }
	if len(s.WritableFolders) > 0 {
		say("it can change files in %s", text.List(g.Locale, s.WritableFolders))
	}
	asked := s.Effect == plugin.EffectNetwork && n == 0 && g.Rules.network == Auto
	switch hosts := text.List(g.Locale, s.Hosts); {
	case hosts != "" && asked && s.ReadsFolders:
		say("it can send data to %s, and read a granted folder itself", hosts)
	case hosts != "" && asked && g.Across:
		say("it can send data to %s, and a conversation of this user contains what a tool read in a granted folder", hosts)
	case hosts != "" && asked:
		say("it can send data to %s, and the conversation contains what a tool read in a granted folder", hosts)
	case hosts != "":
		say("it can send data to %s", hosts)
	case s.Effect != plugin.EffectNetwork:
	case asked && g.Across:
		say("its server can send data to any host, and a conversation of this user contains what a tool read in a granted folder")
	case asked:
		say("its server can send data to any host, and the conversation contains what a tool read in a granted folder")
	default:
		say("its server can send data to any host")
	}
	if n > 0 {
		say("rule %d of [approvals] asks about it", n)
	} else if len(can) == 0 {
		say("it runs outside the sandbox, and what it does cannot be checked")
	}
	return msg.In(g.Locale, text.Join(can))
}

// covers returns which calls the answer Always covers, in the locale of the session.
func (g *Gate) covers(name string, r *compiledRule) string {
	if r == nil {
		return msg.In(g.Locale, tool.Textf("%s with exactly these arguments", name))
	}
	if len(r.args) == 0 {
		return msg.In(g.Locale, tool.Textf("%s with any arguments", name))
	}
	parts := make([]string, len(r.args))
	for i, a := range r.args {
		parts[i] = a.name + " =~ " + a.re.String()
	}
	return msg.In(g.Locale, tool.Textf("%s with arguments where %s", name, text.List(g.Locale, parts)))
}
