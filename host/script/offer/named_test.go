package offer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/script/named"
)

// A granted script that is not offered is not passed over in silence.
func TestProblems(t *testing.T) {
	set := Settings{Folder: t.TempDir(), Tools: map[string]string{"gone": "sha256:0"}}
	for name, text := range map[string]string{
		"fine":    "/* weir\ndescription = \"a\"\ntools = [\"calculator\"]\n*/\nreturn 1\n",
		"changed": "/* weir\ndescription = \"b\"\ntools = [\"calculator\"]\n*/\nreturn 2\n",
		"broken":  "/* weir\ndescription = 5\n*/\nreturn 3\n",
		"twin":    "/* weir\ndescription = \"d\"\ntools = [\"calculator\"]\n*/\nreturn 4\n",
	} {
		if err := os.WriteFile(filepath.Join(set.Folder, name+".js"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set.Tools[name] = named.DigestOf([]byte(text))
	}
	set.Tools["changed"] = named.DigestOf(nil)
	var got []string
	for _, p := range Problems(set, func(name string) bool { return name == "twin" }) {
		got = append(got, p.String())
	}
	for i, want := range []string{"broken is no tool: the manifest", "changed is no tool: it has been changed", "gone is no tool: the script gone cannot be read", "twin is no tool: another tool"} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d problems: %q", len(got), got)
	}
}
