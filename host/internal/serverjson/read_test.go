package serverjson

import (
	"strings"
	"testing"
)

// What READMEs and clients' files show becomes a table of tools.toml.
func TestRead(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"a README", `{"mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp/x"]}}}`,
			"[mcpServers.filesystem]\ncommand = \"npx\"\nargs = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/tmp/x\"]\n"},
		{"an excerpt without braces, with a comma after it", "\"memory\": {\n  \"command\": \"npx\", // why\n  \"args\": [\"-y\", \"m\",],\n},\n",
			"[mcpServers.memory]\ncommand = \"npx\"\nargs = [\"-y\", \"m\"]\n"},
		{"one entry alone", `{"command": "x"}`, "[mcpServers.one]\ncommand = \"x\"\n"},
		{"VS Code", `{"inputs": [{"type": "promptString", "id": "github-token", "password": true}], "servers": {"gh": {"type": "stdio", "command": "docker", "args": ["run", "-e", "GITHUB_TOKEN"], "env": {"GITHUB_TOKEN": "${input:github-token}", "DIR": "${workspaceFolder}/a", "H": "${env:H}"}}}}`,
			"[mcpServers.gh]\ncommand = \"docker\"\nargs = [\"run\", \"-e\", \"GITHUB_TOKEN\"]\nenv = { DIR = \"./a\", GITHUB_TOKEN = \"${GITHUB_TOKEN}\", H = \"${H}\" }\n"},
		{"settings of VS Code", `{"mcp": {"servers": {"a": {"command": "x"}}}}`, "[mcpServers.a]\ncommand = \"x\"\n"},
		{"Zed", `{"theme": "x", "context_servers": {"a": {"source": "custom", "command": {"path": "x", "args": ["1"], "env": {"A": "b"}}}}}`,
			"[mcpServers.a]\ncommand = \"x\"\nargs = [\"1\"]\nenv = { A = \"b\" }\n"},
		{"opencode", `{"mcp": {"a": {"type": "local", "command": ["bun", "x"], "enabled": false, "environment": {"N": 1}}}}`,
			"[mcpServers.a]\ncommand = \"bun\"\nargs = [\"x\"]\nenv = { N = \"1\" }\ndisabled = true\n"},
		{"an address", `{"mcpServers": {"a": {"serverUrl": "https://x/mcp", "type": "http", "headers": {"X-Region": "eu"}}}}`,
			"[mcpServers.a]\nurl = \"https://x/mcp\"\nheaders = { X-Region = \"eu\" }\n"},
		{"Gemini", `{"a": {"httpUrl": "https://x/mcp", "includeTools": ["b"], "excludeTools": ["c"]}}`,
			"[mcpServers.a]\nurl = \"https://x/mcp\"\nallow = [\"b\"]\ndeny = [\"c\"]\n"},
		{"a long time", `{"a": {"command": "x", "timeout": 600000}}`, "[mcpServers.a]\ncommand = \"x\"\ntimeout = \"10m0s\"\n"},
		{"a short time", `{"a": {"command": "x", "timeout": 60}}`, "[mcpServers.a]\ncommand = \"x\"\n"},
		{"a command line in one text", `{"a": {"command": "npx -y x"}}`, "[mcpServers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n"},
		{"a number as an argument", `{"a": {"command": "x", "args": ["--port", 8080]}}`, "[mcpServers.a]\ncommand = \"x\"\nargs = [\"--port\", \"8080\"]\n"},
		{"a wrapper for Windows", `{"a": {"command": "cmd", "args": ["/c", "npx", "-y", "x"]}}`, "[mcpServers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n"},
	} {
		list, err := Read(row.text)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", row.why, list, err)
			continue
		}
		name := list[0].Name
		if name == "" {
			name = "one"
		}
		if got := list[0].TOML(name, false); got != row.want {
			t.Errorf("%s:\n%s, want\n%s", row.why, got, row.want)
		}
	}
}

// What has no counterpart is named, unless nothing is lost.
func TestReadNamesWhatIsLeftOut(t *testing.T) {
	list, err := Read(`{"a": {"command": "x", "autoApprove": ["b"], "alwaysAllow": [], "type": "stdio", "description": "d", "oauth": {"clientId": "c"}}}`)
	if err != nil || strings.Join(list[0].Left, " ") != "autoApprove oauth" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": }`:    "it is not JSON",
		`{}`:         "this JSON names no MCP server",
		`{"a": "b"}`: "this JSON names no MCP server",
		`["a"]`:      "this JSON names no MCP server",
		`{"a": {"command": "x", "url": "https://x"}}`:                    "the server a has both command and url",
		`{"mcpServers": {"a": {"type": "sse", "url": "https://x/sse"}}}`: `the server a uses the old transport "sse"`,
	} {
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestName(t *testing.T) {
	for from, want := range map[string]string{
		"filesystem": "filesystem", "My-Server": "my-server", "MongoDB": "mongodb", "a b.c": "a-b-c", "1mcp": "mcp", "io.github.x/y": "io-github-x-y", "中文": "", "a_b": "a_b",
		"a-very-long-name-of-a-server-indeed": "a-very-long-name-of-a-server-i",
	} {
		if got := Name(from); got != want {
			t.Errorf("%q: %q, want %q", from, got, want)
		}
	}
}

// A secret leaves the entry, what is no secret stays, and a placeholder has no value.
func TestTakeSecrets(t *testing.T) {
	for _, row := range []struct{ text, table, secrets string }{
		{`{"command": "x", "env": {"BRAVE_API_KEY": "BSA123", "MODE": "token", "LEVEL": "<level>"}}`, `env = { BRAVE_API_KEY = "${BRAVE_API_KEY}", LEVEL = "${LEVEL}", MODE = "token" }`, "BRAVE_API_KEY=BSA123 LEVEL="},
		{`{"command": "x", "env": {"API_KEY": "YOUR_API_KEY_HERE"}}`, `env = { API_KEY = "${API_KEY}" }`, "API_KEY="},
		{`{"url": "https://x/mcp", "headers": {"Authorization": "Bearer abcdef123"}}`, `headers = { Authorization = "Bearer ${SRV_TOKEN}" }`, "SRV_TOKEN=abcdef123"},
		{`{"command": "x", "args": ["--figma-api-key=fk1", "--stdio", "--token", "t1", "dir"]}`, `args = ["--figma-api-key=${FIGMA_API_KEY}", "--stdio", "--token", "${TOKEN}", "dir"]`, "FIGMA_API_KEY=fk1 TOKEN=t1"},
		{`{"command": "docker", "args": ["run", "-e", "A_TOKEN=t", "img"]}`, `args = ["run", "-e", "A_TOKEN=${A_TOKEN}", "img"]`, "A_TOKEN=t"},
		{`{"command": "x", "args": ["postgresql://u:p@h/db"]}`, `args = ["${SRV_URL}"]`, "SRV_URL=postgresql://u:p@h/db"},
		{`{"url": "https://x/mcp?apiKey=k1&b=2"}`, `url = "https://x/mcp?apiKey=${SRV_APIKEY}&b=2"`, "SRV_APIKEY=k1"},
		{`{"command": "x", "env": {"H": "{\"Authorization\": \"Bearer ntn_****\", \"V\": \"1\"}"}}`, `env = { H = "{\"Authorization\": \"Bearer ${SRV_TOKEN}\", \"V\": \"1\"}" }`, "SRV_TOKEN="},
		{`{"command": "x", "env": {"K": "${K}", "L": "${L:-1}", "KEYBOARD": "us", "TOKENS_MAX": "5"}}`, `env = { K = "${K}", KEYBOARD = "us", L = "${L:-1}", TOKENS_MAX = "5" }`, "K="},
		{`{"command": "x", "env": {"TAKEN_KEY": "v"}}`, `env = { TAKEN_KEY = "${SRV_TAKEN_KEY}" }`, "SRV_TAKEN_KEY=v"},
	} {
		list, err := Read(row.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range list[0].TakeSecrets("srv", func(v, _ string) bool { return v == "TAKEN_KEY" }) {
			got = append(got, s.Variable+"="+s.Value)
		}
		if table := list[0].TOML("srv", false); !strings.Contains(table, row.table+"\n") || strings.Join(got, " ") != row.secrets {
			t.Errorf("%s\n%s%s\nwant\n%s\n%s", row.text, table, got, row.table, row.secrets)
		}
	}
}
