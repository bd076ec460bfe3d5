package demo

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"

	"context"
)

// shipped are the tools that come with weir, as their manifests declare them.
func shipped(t testing.TB) []tool.Spec {
	t.Helper()
	raw, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var specs []tool.Spec
	if err := json.Unmarshal(raw, &specs); err != nil {
		t.Fatal(err)
	}
	return specs
}

// box answers every call with what says holds for its tool. Calls of a round
// come together.
type box struct {
	mu    sync.Mutex
	specs []tool.Spec
	says  map[string]string
	fail  map[string]*tool.Error
	calls []string
	full  map[string]string
}

func (b *box) Tools() []tool.Spec { return b.specs }

func (b *box) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c.Tool+string(c.Args))
	res := tool.Result{CallID: c.ID, Tool: c.Tool, Err: b.fail[c.Tool]}
	if res.Err != nil {
		return res, nil
	}
	text := b.says[c.Tool]
	if c.Tool == loadTool {
		return b.load(c)
	}
	if text == "" {
		text = c.Tool + " says something"
	}
	chars, lines := limit.Count(text)
	res = res.WithWhole(text)
	if chars > 1000 {
		uuid := "0000-" + c.Tool
		if b.full == nil {
			b.full = map[string]string{}
		}
		b.full[uuid] = text
		res.Ref = &tool.Ref{UUID: uuid, Query: string(c.Args), Summary: text[:100], Chars: chars, Lines: lines}
	}
	for _, s := range b.specs {
		if s.Name == c.Tool {
			res.Shown = limit.Fit(res, s.Output, limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool})
		}
	}
	return res, nil
}

// load serves lines="a-b" and grep of an archived text.
func (b *box) load(c tool.Call) (tool.Result, error) {
	var args struct{ UUID, Lines, Grep string }
	_ = json.Unmarshal(c.Args, &args)
	var out []string
	for i, l := range strings.Split(b.full[args.UUID], "\n") {
		from, to, _ := strings.Cut(args.Lines, "-")
		n := i + 1
		if args.Lines != "" && (n < atoi(from) || n > atoi(to)) || args.Grep != "" && !strings.Contains(l, args.Grep) {
			continue
		}
		out = append(out, l)
	}
	text := strings.Join(out, "\n")
	chars, lines := limit.Count(text)
	res := tool.Result{CallID: c.ID, Tool: c.Tool, Ephemeral: true, Load: &tool.Load{UUID: args.UUID, Args: c.Args, Chars: chars}}.WithWhole(text)
	res.Shown = tool.View{Text: text, TotalChars: chars, TotalLines: lines}
	return res, nil
}

func atoi(s string) int {
	n := 0
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

func ask(t testing.TB, b *box, history []agent.Message, question string) agent.Turn {
	t.Helper()
	l, err := agent.New(agent.Defaults(), New(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := l.Run(t.Context(), history, question)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestPicksToolsOfTheShippedOnes(t *testing.T) {
	for _, c := range []struct{ ask, want string }{
		{"What is 123 * 456?", `calculator{"expression":"123 * 456"}`},
		{"Calculate (3 + 4) * 2^10 please", `calculator{"expression":"(3 + 4) * 2^10"}`},
		{"what's 15% of 2,400?", `calculator{"expression":"15% of 2400"}`},
		{"How much is seven times 8 plus 3.5 * 2", `calculator{"expression":"8 + 3.5 * 2"}`},
		{"What is the square root of 2?", `calculator{"expression":"sqrt(2)"}`},
		{"计算 2 的平方根", `calculator{"expression":"sqrt(2)"}`},
		{"3 的平方加 4 的平方", `calculator{"expression":"3 ^2+ 4 ^2"}`},
		{"123 乘以 456 等于多少？", `calculator{"expression":"123 * 456"}`},
		{"计算 (1+2)×3", `calculator{"expression":"(1+2)*3"}`},
		{"2400 的 15% 是多少？", `calculator{"expression":"15% of 2400"}`},
		{"Where is ErrTimeout returned?", `grep_search{"pattern":"ErrTimeout"}`},
		{"ErrTimeout 是在哪里返回的？", `grep_search{"pattern":"ErrTimeout"}`},
		{"Search the files for \"not found\"", `grep_search{"pattern":"not found"}`},
		{"Which Go files under host define a type named Session?", `grep_search{"pattern":"type Session ","path":"host","glob":"*.go"}`}, // as in the example
		{"Which files under agent mention Toolbox?", `grep_search{"pattern":"Toolbox","path":"agent"}`},
		{"find `func (h *Host)` in host/", `grep_search{"pattern":"func (h *Host)","path":"host"}`},
		{"search for TODO in *.go files", `grep_search{"pattern":"TODO","glob":"*.go"}`},
		{"在文件中搜索“占位符”", `grep_search{"pattern":"占位符"}`},
		{"What does the file README.md say?", `read_file{"file_path":"README.md"}`},
		{"Read go.mod", `read_file{"file_path":"go.mod"}`},
		{"Show me lines 10 to 40 of agent/loop.go", `read_file{"file_path":"agent/loop.go","start_line":10,"end_line":40}`},
		{"查看 agent/loop.go 的第 10 到 40 行", `read_file{"file_path":"agent/loop.go","start_line":10,"end_line":40}`},
		{"README.md 文件里写了什么？", `read_file{"file_path":"README.md"}`},
		{"读取 sdk/tool/spec.go", `read_file{"file_path":"sdk/tool/spec.go"}`},
		{"What is the structure of this project?", `get_repo_structure{}`},
		{"这个项目的目录结构是怎样的？", `get_repo_structure{}`},
		{"List the files in the folder docs", `get_repo_structure{"path":"docs"}`},
		{"Give me an overview of this code base", `repo_map{"repo_path":"."}`},
		{"What are the main types in agent/parse?", `repo_map{"repo_path":"agent/parse"}`},
		{"给我看看这个代码库的概览", `repo_map{"repo_path":"."}`},
		{"What are the main types and functions in host?", `repo_map{"repo_path":"host","max_tokens":1000}`},
		{"Make a long text", `long_text{}`},
		{"Make a long text of 2000 lines", `long_text{"lines":2000}`},
		{"生成一段长文本", `long_text{}`},
		{"生成 2000 行的长文本", `long_text{"lines":2000}`},
		{"What is in the Excel file myfile.xlsx?", `read_data_from_excel{"filepath":"myfile.xlsx"}`},
		{"查看 excel 文件 myfile.xlsx 的内容有什么", `read_data_from_excel{"filepath":"myfile.xlsx"}`},
		{"Show the sheet Sales of report.xlsx from A10 on", `read_data_from_excel{"filepath":"report.xlsx","sheet_name":"Sales","start_cell":"A10"}`},
		{"What does https://go.dev/doc/effective_go say about names?", `fetch_url{"url":"https://go.dev/doc/effective_go"}`},
		{"看看 https://example.com/a 这个网页", `fetch_url{"url":"https://example.com/a"}`},
		{"What is in the news today?", `search_web{"query":"today's news"}`}, // as in the example
		{"What is the weather in Paris today?", `search_web{"query":"What is the weather in Paris today"}`},
		{"Search the web for Go 1.26 release notes", `search_web{"query":"Go 1.26 release notes"}`},
		{"今天北京的天气怎么样？", `search_web{"query":"今天北京天气","mode":"quick"}`},
		{"上网搜索 Go 1.26 的新特性", `search_web{"query":"Go 1.26 的新特性"}`},
	} {
		b := &box{specs: shipped(t)}
		ask(t, b, nil, c.ask)
		got := "nothing"
		if len(b.calls) > 0 {
			got = b.calls[0]
		}
		if got != c.want {
			t.Errorf("%s\n  called %s\n  want   %s", c.ask, got, c.want)
		}
	}
}

// What no tool is made for gets an honest answer, not a guess.
func TestRefusesFreeQuestions(t *testing.T) {
	for _, q := range []string{
		"Hello!", "How are you?", "Tell me a joke", "Who are you?", "What does HTTP status 404 mean?", "Write a poem about autumn", "Thanks", "What is the meaning of life?",
		"你好", "讲个笑话", "你是谁？", "写一首关于秋天的诗", "谢谢",
	} {
		b := &box{specs: shipped(t)}
		turn := ask(t, b, nil, q)
		if len(b.calls) > 0 {
			t.Errorf("%q called %v", q, b.calls)
		}
		if !strings.Contains(turn.Answer, "not an AI") && !strings.Contains(turn.Answer, "不是 AI") {
			t.Errorf("%q answered %q", q, turn.Answer)
		}
	}
}

// Questions as people put them, with whatever else could have been meant.
func TestPicksForEverydayQuestions(t *testing.T) {
	for _, c := range []struct{ ask, want string }{
		{"What's in the agent folder?", `get_repo_structure{"path":"agent"}`},
		{"show the directory tree", `get_repo_structure{}`}, // "tree" is no folder
		{"项目里有哪些文件？", `get_repo_structure{}`},
		{"cat README.md", `read_file{"file_path":"README.md"}`}, // not the tool for workbooks
		{"看看 README.md", `read_file{"file_path":"README.md"}`},
		{"显示 go.mod 的前 5 行", `read_file{"file_path":"go.mod","start_line":1,"end_line":5}`},
		{"What's 1/3 as a decimal?", `calculator{"expression":"1/3"}`}, // not a path
		{"7 factorial", `calculator{"expression":"7!"}`},
		{"what is 10 divided by 4?", `calculator{"expression":"10 / 4"}`},
		{"2的10次方是多少", `calculator{"expression":"2^10"}`},
		{"100除以7", `calculator{"expression":"100/7"}`},
		{"where is the function Neutralise defined?", `grep_search{"pattern":"Neutralise"}`},
		{"Which files import wazero?", `grep_search{"pattern":"wazero"}`},
		{"Does any file mention tokens?", `grep_search{"pattern":"tokens"}`},
		{"哪些文件提到了 wazero？", `grep_search{"pattern":"wazero"}`},
		{"在 host 目录里查找 Session", `grep_search{"pattern":"Session","path":"host"}`},
		{"overview of the host package", `repo_map{"repo_path":"host"}`},
		{"read the sheet Q1 of data/sales.xlsx", `read_data_from_excel{"filepath":"data/sales.xlsx","sheet_name":"Q1"}`}, // Q1 is no cell
		{"data/sales.xlsx 里 Q1 工作表的内容", `read_data_from_excel{"filepath":"data/sales.xlsx","sheet_name":"Q1"}`},
		{"写 50 行测试文本", `long_text{"lines":50}`},
		{"summarise https://go.dev", `fetch_url{"url":"https://go.dev"}`},
		{"帮我搜索一下今天的新闻", `search_web{"query":"今天的新闻"}`},
		{"北京天气", `search_web{"query":"北京天气"}`},
		{"look up the capital of France", "nothing"}, // no word of it names the web
	} {
		b := &box{specs: shipped(t)}
		ask(t, b, nil, c.ask)
		got := "nothing"
		if len(b.calls) > 0 {
			got = b.calls[0]
		}
		if got != c.want {
			t.Errorf("%s\n  called %s\n  want   %s", c.ask, got, c.want)
		}
	}
}
