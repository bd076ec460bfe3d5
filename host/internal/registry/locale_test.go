package registry

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

func TestArgumentsInBothLanguages(t *testing.T) {
	m, problems := ParseManifest("plugin.toml", []byte(base+"description = \"what to find\"\ndescription_zh = \"要查找的\u200b内容\"\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := m.Tools[0].Spec
	if strings.Contains(string(s.Params), "_zh") || strings.Contains(string(s.Params), "内容") || !strings.Contains(string(s.ParamsZh), `"description":"要查找的内容"`) {
		t.Errorf("%s\n%s", s.Params, s.ParamsZh)
	}
	if got := strings.Join(m.Tools[0].Schema.Names(), " "); got != "pattern" {
		t.Errorf("the arguments are %s", got)
	}
}

func TestReasonsInBothLanguages(t *testing.T) {
	m, problems := ParseManifest("plugin.toml", []byte(strings.NewReplacer(
		`reason = "reads files"`, `reason = "reads files", reason_zh = "读取文件"`, `reason = "asks it"`, `reason = "asks it", reason_zh = "查询它"`,
		`reason = "pays"`, `reason = "pays", reason_zh = "付费"`).Replace(base)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for i, got := range []tool.Text{m.Asks.Paths[0].Reason, m.Asks.Hosts[0].Reason, m.Asks.Secrets[0].Reason} {
		en, zh := []string{"reads files", "asks it", "pays"}[i], []string{"读取文件", "查询它", "付费"}[i]
		if got.String() != en || got.In(tool.Zh) != zh {
			t.Errorf("%q and %q, want %q and %q", got, got.In(tool.Zh), en, zh)
		}
	}
}
