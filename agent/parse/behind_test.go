package parse_test

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
)

const objSearch = `{"tool": "search_web", "query": "Oslo"}`

// deeds are words in front of an object that say that its call is made now.
var deeds = []string{
	"正在为您搜索 %s", "我马上搜索。%s", "好的，%s", "当然可以。%s", "没问题，我来查一下 %s", "好的，我这就帮您查询。%s", "请稍等，%s", "让我搜索一下最新的消息。 %s", "明白了。现在开始搜索 %s", "Oslo 的天气我不清楚。我先搜索一下。%s",
	"Sure, %s", "Searching the web now. %s", "I'll look that up. %s", "Okay, let me check. %s", "Of course! One moment. %s", "I'm searching for it %s", "Right away: looking it up %s", "To answer this, I will search the web. %s", "根据您的要求，我将调用搜索工具 %s", "Let's find out. %s", "首先，我来搜索 %s", "I will call the search_web function with the following arguments %s", "Let me search for Oslo first, %s",
	"我会使用search_web来查询。%s", "下面我调用 search_web 工具。%s", "调用工具 search_web %s", "To find the answer I'll call the search. %s", "No problem — searching. %s", "**正在搜索** %s", "1. 调用搜索工具 %s", "首先，调用搜索。%s", "接着我搜索 %s",
}

// doubtful are words that do not say so, and do not show a call either: the model is asked.
var doubtful = []string{
	"需要我为您搜索吗？%s", "我已经搜索过 %s", "如果需要，我会搜索 %s", "不会执行 %s", "Should I run %s", "I ran %s", "I would search, %s", "The last one was %s", "I will not run %s", "My answer is %s", "Something like %s", "Nothing was found. %s", "结论：没有 %s",
}

// documents are words that show a call, or speak about calls: they are the answer.
var documents = []string{
	"例如 %s", "调用的格式是 %s", "你可以发送 %s", "比如，用户说：好的，%s", "文档里的示例是 %s",
	"你可以这样写：%s", "参数格式如下：%s", "You can send: %s", "The syntax is: %s",
	"用户说：%s", "The log says: %s", "日志显示：%s", "He wrote: %s", "配置文件里有：%s", "In the docs: %s", "像这样：%s", "Sample: %s", "This is how it looks: %s",
	"For example, %s", "You can send %s", "The model writes %s", "The syntax is %s", "The config is x = %s", "# Tools\n\nSure, %s", "Use `%s`", "It is written “%s", "(as in %s", "The list is [1, %s", `It is {"found": 1, "calls": %s`, `It is "calls": %s`,
}

// An object behind words on its line is a call where they say that it is made now.
func TestObjectsBehindWords(t *testing.T) {
	read := func(o parse.Options, frame, object string) string {
		text := strings.Replace(frame, "%s", object, 1)
		if err := eval.Laws(o, text, false); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		return show(parse.All(o, text))
	}
	broad := "{\n  \"tool\": \"search_web\",\n  \"query\": \"Oslo\"\n}"
	for _, frame := range deeds {
		for _, object := range []string{objSearch, broad, `{"name":"search_web","arguments":{"query":"Oslo"}}`, objSearch + "\n"} {
			if got := read(house(), frame, object); !strings.HasSuffix(got, `search_web{"query":"Oslo"}`) || strings.Contains(got, "!") && !strings.Contains(frame, "!") {
				t.Errorf("want the call, got %s:\n%s%s", got, frame, object)
			}
		}
		for _, after := range []string{"。", ".", "\n\n请稍等。", "\nOne moment, please.", " 好的，请稍候", "\n\nThen I compare."} {
			if got := read(house(), frame, objSearch+after); !strings.HasSuffix(got, `search_web{"query":"Oslo"}`) || strings.Contains(got, "!in_text") {
				t.Errorf("want the call in front of %q, got %s", after, got)
			}
		}
		if got := read(house(), frame, objSearch+" is what it comes to."); strings.Contains(got, "search_web{") || strings.Contains(got, "!in_text") {
			t.Errorf("amid text: %s", got)
		}
		for _, object := range []string{`{"tool": "search_web"}`, `{"tool": "search_web", "place": "Oslo"}`, `{"tool": "search_web", "query": "Oslo", "zone": 1}`} {
			if got := read(house(), frame, object); !strings.Contains(got, "!no_arguments:search_web") {
				t.Errorf("arguments that do not fit: %s", got)
			}
		}
		asked := house()
		asked.Shown = true
		if got := read(asked, frame, objSearch); strings.Contains(got, "search_web{") || strings.Contains(got, "!in_text") || !strings.Contains(got, "tool") {
			t.Errorf("the person asked how to call: %s", got)
		}
		for _, object := range []string{`{"tool": "hammer", "query": "Oslo"}`, `{"name": "search_web", "version": "1.2", "licence": "MIT"}`, `{"city": "Oslo"}`, `{"tool": "search_web", "query": "<query>"}`} {
			if got := read(house(), frame, object); strings.Contains(got, "search_web{") || strings.Contains(got, "!no_") || strings.Contains(got, "!in_text") {
				t.Errorf("an answer: %s", got)
			}
		}
	}
	for _, frame := range doubtful {
		if got := read(house(), frame, objSearch); !strings.Contains(got, "!in_text:search_web") || strings.Contains(got, "search_web{") {
			t.Errorf("want a correction, got %s:\n%s", got, frame)
		}
	}
	for _, after := range []string{"？", "?", "\nThen I go on."} {
		if got := read(house(), "Should I run %s", objSearch+after); !strings.HasSuffix(got, "!in_text:search_web") || strings.Contains(got, "search_web{") {
			t.Errorf("want a correction, got %s", got)
		}
	}
	for _, frame := range documents {
		if got := read(house(), frame, objSearch+"。"); strings.Contains(got, "!in_text") || strings.Contains(got, "search_web{") {
			t.Errorf("want text, got %s:\n%s", got, frame)
		}
		if got := read(house(), frame, objSearch); strings.Contains(got, "!in_text") || strings.Contains(got, "search_web{") || !strings.Contains(got, "tool") {
			t.Errorf("want text, got %s:\n%s", got, frame)
		}
	}
}

func TestAsksForCall(t *testing.T) {
	for q, want := range map[string]bool{
		"How do I call search_web?": true, "What does a tool call look like?": true, "Show me the format of a function call.": true, "怎么调用 search_web？": true, "请给出工具调用的示例": true, "写一个函数调用的 JSON": true,
		"What is the weather in Oslo?": false, "Search for examples of Norwegian food.": false, "奥斯陆天气怎么样？": false, "帮我搜索一下新闻": false, "Call me a taxi.": false, "Give me an example of a haiku.": false,
	} {
		if parse.AsksForCall(q) != want {
			t.Errorf("%q: %v", q, !want)
		}
	}
}

// A text that only says that a call is made is no answer; one that also says something is.
func TestOnlyActs(t *testing.T) {
	for text, want := range map[string]bool{
		"好的，我来查询。": true, "Let me look it up.\n": true, "Sure! I'm searching the web now.": true, "正在为您搜索：": true, "好的。\n\n我马上搜索。": true, "**Searching the web**": true,
		"": false, "Yes.": false, "好的。": false, "我认为巴黎是法国的首都。": false, "To sum up, Paris has it.": false, "Paris. Let me look that up.": false, "I'm sure that Paris is the capital.": false,
		"现在为您计算：6*7 = 42。": false, "I will not look it up.": false, "Should I look it up?": false, "I'll call you when the results are in.": false,
	} {
		if parse.OnlyActs(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
