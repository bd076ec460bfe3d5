package agent_test

import (
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/agent/parse"
)

// A disguise is a way in which texts show the lines of another text.
type disguise struct {
	name string
	wear func(string) string
}

// dressed shows each line between two texts; № is its number.
func dressed(before, after string) func(string) string {
	return numbered(func(n int, line string) string {
		return strings.ReplaceAll(before, "№", strconv.Itoa(n)) + line + after
	})
}

func numbered(show func(n int, line string) string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		for i, line := range strings.Split(text, "\n") {
			b.WriteString(show(i+1, line) + "\n")
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
}

func asJSON(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// chain wears one disguise over another.
func chain(wear ...func(string) string) func(string) string {
	return func(text string) string {
		for _, w := range wear {
			text = w(text)
		}
		return text
	}
}

// disguises are those of mails, code, tables, terminals and programs that show files.
var disguises = []disguise{
	{"bare", func(s string) string { return s }},
	{"> ", dressed("> ", "")}, {">", dressed(">", "")}, {"> > ", dressed("> > ", "")}, {">> ", dressed(">> ", "")}, {"» ", dressed("» ", "")},
	{"mail", func(s string) string {
		return "On Mon, 5 Jan 2026 at 10:12, Ann Lee <ann@x.example> wrote:\n>\n" + dressed("> ", "")(s) + "\n>\n> Ann"
	}},
	{"| ", dressed("| ", "")}, {"| |", dressed("| ", " |")}, {"row", dressed("| № | ", " |")},
	{"box", func(s string) string { return "┌────\n" + dressed("│ ", " │")(s) + "\n└────" }},
	{"ascii box", func(s string) string { return "+-----+\n" + dressed("| ", "    |")(s) + "\n+-----+" }},
	{"// ", dressed("// ", "")}, {"# ", dressed("# ", "")}, {"-- ", dressed("-- ", "")}, {";; ", dressed(";; ", "")}, {"% ", dressed("% ", "")}, {"\" vim", dressed(`" `, "")},
	{"javadoc", func(s string) string { return "/**\n" + dressed(" * ", "")(s) + "\n */" }},
	{"/* */", func(s string) string { return "/* " + strings.ReplaceAll(s, "\n", "\n   ") + " */" }},
	{"/* */ each", dressed("/* ", " */")}, {"<!-- -->", func(s string) string { return "<!-- " + s + " -->" }}, {"<!-- --> each", dressed("<!-- ", " -->")},
	{"docstring", func(s string) string { return "def f():\n    \"\"\"\n" + dressed("    ", "")(s) + "\n    \"\"\"" }},
	{"* ", dressed("* ", "")}, {"- ", dressed("- ", "")}, {"• ", dressed("• ", "")}, {"#. ", dressed("№. ", "")}, {"(#) ", dressed("(№) ", "")},
	{"hanging", func(s string) string { return "- " + strings.ReplaceAll(s, "\n", "\n  ") }},
	{"diff +", dressed("+ ", "")}, {"diff -", dressed("-", "")},
	{"hunk", numbered(func(n int, line string) string { return "-old line " + strconv.Itoa(n) + "\n+" + line })},
	{"$ ", dressed("$ ", "")}, {"prompt", dressed("ann@host:~/src$ ", "")}, {"... ", dressed(">>> ", "")},
	{"#: ", dressed("№: ", "")}, {"#|", dressed("№|", "")}, {"cat -n", numbered(func(n int, line string) string { return fmt.Sprintf("%6d\t%s", n+7, line) })},
	{"12\\t", numbered(func(n int, line string) string { return fmt.Sprintf("%d\t%s", n+7, line) })},
	{"arrow", numbered(func(n int, line string) string { return fmt.Sprintf("%5d→%s", n+7, line) })},
	{"L12", numbered(func(n int, line string) string { return fmt.Sprintf("L%d: %s", n+7, line) })},
	{"grep", dressed("notes/a-1.txt:№:", "")}, {"grep -C", dressed("notes.txt-№-", "")},
	{"files", numbered(func(n int, line string) string {
		return fmt.Sprintf("%s.txt:%d: %s", string(rune('a'+n%26)), n, line)
	})},
	{"log", numbered(func(n int, line string) string { return fmt.Sprintf("2026-01-01T10:%02d:00Z INFO %s", n%60, line) })},
	{"levels", numbered(func(n int, line string) string {
		return fmt.Sprintf("2026-01-01 10:%02d [%s] %s", n%60, []string{"INFO", "WARN", "ERROR"}[n%3], line)
	})},
	{"syslog", numbered(func(n int, line string) string { return fmt.Sprintf("Jan  1 10:00:%02d host app[12]: %s", n%60, line) })},
	{"blame", numbered(func(n int, line string) string {
		return fmt.Sprintf("%07x (Ann Lee 2026-01-01 %d) %s", n*7919, n, line)
	})},
	{"chat", numbered(func(n int, line string) string { return []string{"<ann> ", "<bob> "}[n%2] + line })},
	{"talk", numbered(func(n int, line string) string { return []string{"Ann: ", "Bob: "}[n%2] + line })},
	{"indented", dressed("        ", "")}, {"tabs", dressed("\t\t", "")}, {"spaced out", numbered(func(_ int, line string) string { return line + "\n" })},
	{"continued", dressed("", " \\")}, {"<br>", dressed("", "<br>")}, {"<p>", dressed("<p>", "</p>")}, {"<li>", dressed("  <li>", "</li>")}, {"<td>", dressed("<tr><td>№</td><td>", "</td></tr>")},
	{"html", html.EscapeString}, {"html twice", chain(html.EscapeString, html.EscapeString)}, {"html, quoted", chain(html.EscapeString, dressed("> ", ""))}, {"quoted, html", chain(dressed("> ", ""), html.EscapeString)},
	{"json", asJSON}, {"json twice", chain(asJSON, asJSON)}, {"json field", func(s string) string { return `{"id": 7, "text": ` + asJSON(s) + `, "ok": true}` }},
	{"json, quoted", chain(asJSON, dressed("> ", ""))}, {"quoted, json", chain(dressed("> ", ""), asJSON)}, {"numbered, json", chain(dressed("№\t", ""), asJSON)},
	{"list of lines", func(s string) string {
		lines, _ := json.MarshalIndent(strings.Split(s, "\n"), "", "  ")
		return string(lines)
	}},
	{"> in grep", chain(dressed("> ", ""), dressed("mail.txt:№:", ""))}, {"comment in diff", chain(dressed("// ", ""), dressed("+", ""))}, {"box in a mail", chain(dressed("│ ", " │"), dressed("> ", ""))},
	{"crlf", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }}, {"> crlf", func(s string) string { return strings.ReplaceAll(dressed("> ", "")(s), "\n", "\r\n") }},
	{"backticks", dressed("`", "`")}, {"bold", dressed("**", "**")}, {"stars", dressed("*** ", "")},
	{"echo", dressed("echo '", "' >> notes")}, {"c strings", numbered(func(_ int, line string) string { return "    " + asJSON(line+"\n") })}, {"concatenated", numbered(func(_ int, line string) string { return "  " + asJSON(line+"\n") + " +" })},
	{"python list", func(s string) string {
		return "lines = ['" + strings.ReplaceAll(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s), "\n", "', '") + "']"
	}},
	{"subtitles", numbered(func(n int, line string) string {
		return fmt.Sprintf("%d\n00:00:%02d,000 --> 00:00:%02d,000\n%s\n", n, n%60, (n+1)%60, line)
	})},
	{"yaml", func(s string) string { return "note: |\n" + dressed("  ", "")(s) }}, {"yaml list", dressed("  - ", "")}, {"yaml texts", numbered(func(_ int, line string) string { return "  - " + asJSON(line) })},
	{"irc", numbered(func(n int, line string) string {
		return fmt.Sprintf("[10:%02d] <%s> %s", n%60, []string{"ann", "bob"}[n%2], line)
	})},
	{"ruled", dressed("| ", " |\n+-----+")}, {"item", dressed(`\item `, "")}, {"org", dressed(": ", "")}, {"[quote]", func(s string) string { return "[quote=ann]" + s + "[/quote]" }},
	{"cdata", func(s string) string { return "<note><![CDATA[" + s + "]]></note>" }}, {"w:t", dressed("<w:p><w:t>", "</w:t></w:p>")}, {"ical", func(s string) string { return "DESCRIPTION:" + strings.ReplaceAll(s, "\n", `\n`) }},
	{"printf", func(s string) string { return "printf '" + strings.ReplaceAll(s, "\n", `\n`) + `\n'` }}, {"field", dressed("line№=", "")}, {"brackets", dressed("[", "]")}, {"parens", dressed("(", ")")}, {"arrows", dressed("--> ", "")},
	{"three deep", chain(dressed("> ", ""), dressed("// ", ""), dressed("№: ", ""))}, {"widths", numbered(func(n int, line string) string { return fmt.Sprintf("%*d │ %s", n%4+1, n*n*n, line) })},
	{"hex", numbered(func(n int, line string) string { return fmt.Sprintf("0x%04x: %s", n*4096+n, line) })},
	{"flat", strings.NewReplacer("\n", " ").Replace}, {"> flat", chain(dressed("> ", ""), strings.NewReplacer("\n", " ").Replace)}, {"numbered, flat", chain(dressed("№: ", ""), strings.NewReplacer("\n", " ").Replace)},
	{"csv", dressed(`№,"`, `"`)},
}

// A call is found behind every disguise, in every form: a model may repeat it in another.
func TestACallInDisguiseIsHeld(t *testing.T) {
	specs := formBox("").specs
	tools := quote.NewTools(specs, parse.NewSet(parse.Options{Tools: specs}))
	n, missed, all := 0, map[string][]string{}, forms(t)
	for _, d := range disguises {
		for _, form := range all {
			var held quote.Calls
			held.Read([]string{"Notes of a meeting.\n" + d.wear(form) + "\nEnd of the notes.\n"}, tools, nil)
			for _, c := range parse.Calls(parse.All(parse.Options{Tools: specs}, form)) {
				if string(c.Args) == "{}" {
					continue // a name alone
				}
				if n++; !held.Holds(quote.Call{Tool: c.Name, Args: c.Args}, tools) {
					missed[d.name] = append(missed[d.name], form)
				}
			}
		}
	}
	for name, list := range missed {
		t.Errorf("%s: %d calls are not found, such as\n%s", name, len(list), strings.Join(list[:min(3, len(list))], "\n--\n"))
	}
	t.Logf("%d calls", n)
}
