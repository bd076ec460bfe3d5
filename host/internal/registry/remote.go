package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/sdk/tool"
)

// RemoteNames returns the names under which the tools of another server are offered, in the
// order of names, the server's own; empty: it has no letter and no digit, or is too long. It
// is <server>__<name>, with the case and the hyphens of the server; each run of other
// characters is "_". A name that the server has so wins over one that becomes the same, which
// gets a digest, as do all of several that become the same and differ. Of equal names all
// get one.
func RemoteNames(server string, names []string) []string {
	place := cleanName(server)
	out, exact, mapped := make([]string, len(names)), map[string]bool{}, map[string]string{}
	clash := map[string]bool{}
	for i, name := range names {
		short := ""
		if len(name) <= 4*maxToolName {
			short = keepName(name)
		}
		if short == "" || place == "" {
			continue
		}
		out[i] = place + "__" + fitName(short, maxToolName-len(place)-len("__"), name)
		if out[i] == place+"__"+name {
			exact[out[i]] = true
		} else if before, ok := mapped[out[i]]; ok && before != name {
			clash[out[i]] = true
		} else {
			mapped[out[i]] = name
		}
	}
	for i, name := range names {
		if full := out[i]; full != "" && full != place+"__"+name && (exact[full] || clash[full]) {
			sum := sha256.Sum256([]byte(name))
			digest := toolname.Clash + hex.EncodeToString(sum[:])[:toolname.ClashDigits]
			out[i] = strings.TrimRight(full[:min(len(full), maxToolName-len(digest))], "_-") + digest
		}
	}
	return out
}

// keepName converts an untrusted name to letters, digits and single "_" or "-", with a letter
// first. Its old form is what cleanName returns, but for the length. It returns "" if nothing
// remains.
func keepName(s string) string {
	var b strings.Builder
	gap := rune(0)
	for _, r := range s {
		low := unicode.ToLower(r)
		if low >= 'a' && low <= 'z' || low >= '0' && low <= '9' {
			if gap != 0 && b.Len() > 0 {
				b.WriteRune(gap)
			}
			gap = 0
			if r > unicode.MaxASCII {
				r = low
			}
			b.WriteRune(r)
			continue
		}
		switch {
		case gap != 0:
		case r == '-':
			gap = '-'
		default:
			gap = '_'
		}
	}
	name := b.String()
	if name != "" && name[0] <= '9' {
		name = "p" + name
	}
	return name
}

// RemoteTool returns a tool for the tool of another server. The texts and the
// schema are untrusted and get the same checks as a third-party plugin's. as is its name
// by RemoteNames; Remote is the original one. notes are the faults. ok
// is false if the tool is unusable. The schemas of a server share a budget.
func RemoteTool(server, as, name, title, description string, params json.RawMessage, budget *schema.Budget) (t Tool, notes []tool.Text, ok bool) {
	note := func(format string, args ...any) { notes = append(notes, tool.Textf(format, args...)) }
	if as == "" {
		note("a tool is left out: its name has no letter from a to z and no digit, or is %d bytes long", len(name))
		return t, notes, false
	}
	t = Tool{Format: FormatMCP, EmptyOK: true, Export: name, Remote: name}
	t.Spec = tool.Spec{Name: as, Written: name}
	if len(description) > schema.MaxTheirs {
		note("the description of %s is over %s; the rest is left out", as, tool.Bytes(schema.MaxTheirs))
	}
	if t.Spec.Description = schema.Prose(description, title); t.Spec.Description == "" {
		t.Spec.Description = fmt.Sprintf("The tool %s of the server %s, which does not describe it.", as[strings.Index(as, "__")+2:], cleanName(server))
	}
	t.Spec.Params, t.Schema = thirdPartySchema(t.Spec.Name, params, budget, note)
	t.Schema = t.Schema.Open() // as its server would take the arguments
	return t, notes, true
}
