package toolindex

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shop are tools of several sources as tests need them.
func shop() []Tool {
	tool := func(server, name, description string, params ...string) Tool {
		props := map[string]any{}
		for _, p := range params {
			props[p] = map[string]string{"type": "string", "description": "The " + p + " to use"}
		}
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": props})
		return Tool{Name: name, Server: server, Description: description, Parameters: schema}
	}
	return []Tool{
		tool("disk", "read_file", "Return the text of a file. Long files are cut.", "path"),
		tool("disk", "write_file", "Put text into a file, which is made where it is missing.", "path", "text"),
		tool("disk", "list_directory", "Return the names of what a directory holds.", "path"),
		tool("disk", "removeFile", "Delete a file for good.", "path"),
		tool("disk", "move-file", "Give a file another name or folder.", "from", "to"),
		tool("forge", "list_issues", "Return the open issues of a repository, newest first.", "repository"),
		tool("forge", "get_issue", "Return one issue with its comments.", "repository", "number"),
		tool("forge", "create_pull_request", "Open a pull request from a branch of a repository.", "repository", "branch"),
		tool("forge", "search_code", "Find lines of code in all repositories.", "query"),
		tool("sky", "weather_by_city", "Return the weather of a city for up to five days.", "city", "days"),
		tool("sky", "air_quality", "Return how clean the air of a place is.", "place"),
		tool("post", "send_mail", "Send an e-mail to one or more people.", "to", "subject", "body"),
		tool("post", "list_mails", "Return the newest mails of an inbox.", "folder"),
		tool("maps", "geocode", "Return the coordinates of an address.", "address"),
		tool("maps", "routeBetween", "Return the way from one place to another by car or on foot.", "from", "to"),
		tool("maps", "findRestaurants", "Return places to eat near a point.", "point", "radius"),
		tool("money", "exchange_rate", "Return how much one currency is in another.", "from", "to"),
		tool("money", "loanplan", "Return the monthly payments of a loan. Plan a loan before a bank does.", "sum", "rate", "years"),
		tool("sums", "triangle_area", "Return the area of a triangle.", "base", "height"),
		tool("sums", "circle_area", "Return the area of a circle.", "radius"),
		tool("rail", "query_tickets", "查询两个城市之间的火车余票", "出发地"),
		tool("rail", "station_code", "根据车站名称返回车站代码", "站名"),
		tool("charts", "pie_chart", "Draw a pie chart that shows the parts of a whole.", "data"),
		tool("charts", "bar_chart", "Draw a bar chart that compares values.", "data"),
		tool("base", "run_query", "Run a SELECT statement on a database.", "sql"),
		tool("base", "HTTPServerStatus", "Return whether the web server answers.", "url"),
	}
}

func names(x *Index, hits []Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, x.Tool(h.Tool).Name)
	}
	return out
}

// find returns the names of the first five tools for a question.
func find(x *Index, query string) []string { return names(x, x.Find(query, 5)) }

func TestFind(t *testing.T) {
	x := New(shop())
	for _, c := range []struct{ query, first string }{
		{"show me the content of a document", "read_file"},
		{"delete documents", "removeFile"},
		{"enumerate the folder", "list_directory"},
		{"open /home/ann/notes.txt", "read_file"},
		{"is it raining in Lyon tomorrow?", "weather_by_city"},
		{"e-mail Bob that I am late", "send_mail"},
		{"latitude and longitude of 10 Downing Street", "geocode"},
		{"how do I drive from Rome to Milan", "routeBetween"},
		{"Where can I have dinner?", "findRestaurants"},
		{"what is 100 USD in EUR", "exchange_rate"},
		{"area of a triangle with base 10 and height 5", "triangle_area"},
		{"open bugs of the repo", "list_issues"},
		{"wether in a city", "weather_by_city"},
		{"plan the mortgage", "loanplan"},
		{"火车票查询", "query_tickets"},
		{"车站代码是多少", "station_code"},
		{"巴黎的天气", "weather_by_city"},
		{"is the http server up?", "HTTPServerStatus"},
	} {
		if got := find(x, c.query); len(got) == 0 || got[0] != c.first {
			t.Errorf("%q finds %v; %s has to be first", c.query, got, c.first)
		}
	}
}

// A name that says who does it is found by what it does.
func TestNamesThatSayWhoDoesIt(t *testing.T) {
	x := New([]Tool{
		{Name: "trial_places", Description: "Places of a clinical trial. Outcomes: get these elsewhere."},
		{Name: "trial_getter", Description: "Details about a clinical trial that is registered."},
		{Name: "sheet_colors", Description: "Colors in a spreadsheet. Numbers: analyze these elsewhere."},
		{Name: "sheet_analyzer", Description: "Numbers in a spreadsheet that is stored."},
	})
	for query, first := range map[string]string{"get the clinical trial": "trial_getter", "analyze the spreadsheet": "sheet_analyzer"} {
		if got := find(x, query); len(got) == 0 || got[0] != first {
			t.Errorf("%q finds %v; %s has to be first", query, got, first)
		}
	}
}

// A paper or a contract is a document; a document need not be a paper.
func TestKindsOfDocuments(t *testing.T) {
	x := New([]Tool{{Name: "sum", Description: "Add numbers."}, {Name: "open_document", Description: "Read a document."}, {Name: "list_papers", Description: "List papers."}})
	if got := find(x, "read the contract"); len(got) == 0 || got[0] != "open_document" {
		t.Errorf("a contract finds %v", got)
	}
	if got := find(x, "open the document"); len(got) != 1 {
		t.Errorf("a document finds %v", got)
	}
}

// Every tool is first by its name, in any spelling, and alone in a sentence.
func TestFindByName(t *testing.T) {
	x := New(shop())
	for _, tool := range x.tools {
		for _, query := range []string{tool.Name, strings.ToUpper(tool.Name), "`" + tool.Name + "`", "please call " + tool.Name + " for me",
			strings.NewReplacer("_", " ", "-", " ").Replace(tool.Name)} {
			if got := find(x, query); len(got) == 0 || got[0] != tool.Name {
				t.Errorf("%q finds %v", query, got)
			}
		}
	}
	if got := find(x, "use list_isues"); len(got) == 0 || got[0] != "list_issues" {
		t.Errorf("a name with a mistake finds %v", got)
	}
}

// Many may search at the same time, also for names that no description has.
func TestFindAtTheSameTime(t *testing.T) {
	x := New([]Tool{{Name: "zebra:run", Description: "Draws stripes."}, {Name: "okapi:run", Description: "Draws lines."}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got := find(x, "zebra:run and okapi:run in the desert"); len(got) == 0 {
					t.Error("nothing is found")
				}
			}
		})
	}
	wg.Wait()
}

func TestFindFiveNames(t *testing.T) {
	tools := append(shop(), Tool{Name: "think", Description: "Note a thought."}, Tool{Name: "Now", Description: "Return trends."}, Tool{Name: "form", Description: "Make a survey."})
	x := New(tools)
	r := rand.New(rand.NewSource(1))
	for range 50 {
		var want []string
		for _, i := range r.Perm(len(tools))[:5] {
			want = append(want, tools[i].Name)
		}
		for _, between := range []string{" ", ", ", " and ", "\n", "; ", "、"} {
			for _, frame := range []string{"%s", "I need these tools: %s", "use %s to solve the problem of my company"} {
				query := fmt.Sprintf(frame, strings.Join(want, between))
				if got := find(x, query); !reflect.DeepEqual(sorted(got), sorted(want)) {
					t.Fatalf("%q finds %v", query, got)
				}
			}
		}
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func TestSameNames(t *testing.T) {
	x := New([]Tool{{Name: "getUser", Server: "a"}, {Name: "get-user", Server: "b"}, {Name: "get_user", Server: "c"}})
	for query, first := range map[string]int{"getUser": 0, "get-user": 1, "call get_user": 2} {
		hits := x.Find(query, 5)
		if len(hits) != 3 || hits[0].Tool != first || !hits[0].Named {
			t.Errorf("%q finds %+v", query, hits)
		}
	}
}

// Greetings and nonsense find nothing.
func TestFindNothing(t *testing.T) {
	x := New(shop())
	for _, query := range []string{"", " ", "?!", "hello", "Hi there!", "good morning", "How are you doing today?", "thanks a lot, bye", "what can you do?",
		"nice to meet you", "happy birthday", "never mind", "ok", "haha", "你好", "谢谢你", "您好，在吗？", "早上好", "asdf qwer", "xkcdq zzyzx plugh",
		"colorless green ideas sleep furiously", "foo bar baz", "twas brillig and the slithy toves", "the moon is made of cheese",
		"seven spoons dance under a velvet ceiling", "12345",
		"okay, sounds good", "see you later", "are you a robot?", "sorry, my mistake", "you are so smart", "that makes sense, thanks", "take care and stay safe",
		"perfect, exactly what I wanted", "what a beautiful day", "I am so tired today", "Brilliant!", "merci", "bonjour, comment ça va ?", "guten Morgen, wie geht es dir?", "再见，明天见", "你真聪明", "新年快乐", "lorem ipsum dolor sit amet", "my shoes taste like thursday", "呜呜呜"} {
		for _, count := range []int{1, 5, x.Len()} {
			if got := names(x, x.Find(query, count)); got != nil {
				t.Errorf("%q finds %v", query, got)
			}
		}
	}
}

// A long text is read at its ends, where the question is.
func TestLongTexts(t *testing.T) {
	x := New(shop())
	file := strings.Repeat("lorem ipsum 天 ", 100_000)
	for _, query := range []string{"delete the file: " + file, file + " delete the file"} {
		if got := find(x, query); len(got) == 0 || got[0] != "removeFile" {
			t.Errorf("a long text finds %v", got)
		}
	}
	if got := find(x, file+" delete the file "+file); got != nil {
		t.Errorf("the middle of a long text finds %v", got)
	}
}

// A word that a tool has in passing finds it where it is searched for, not where somebody
// says something.
func TestWordsInPassing(t *testing.T) {
	tools := shop()
	long := strings.Repeat("It keeps the order of the columns, and rows without a value stay empty. ", 5)
	tools = append(tools, Tool{
		Name: "load_table", Description: "Load a table. " + long + "A robot may have to wait for the elbow of the pipe.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"mode":{"type":"string","description":"` + long + `whether the family is loaded too"}}}`),
	})
	x := New(tools)
	for _, query := range []string{"are you the robot of the house", "greetings to you and your family", "my elbow is the king"} {
		if got := find(x, query); got != nil {
			t.Errorf("%q finds %v", query, got)
		}
	}
	for _, query := range []string{"robot", "elbow", "the columns of a table"} {
		if got := find(x, query); !slices.Contains(got, "load_table") {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

// A request for something is about the word that a tool is about, whatever else it has.
func TestRequestsNeedLess(t *testing.T) {
	x := New(append(shop(), Tool{Name: "create_container", Server: "dock", Description: "Create a new container."},
		Tool{Name: "list_containers", Server: "dock", Description: "List all containers."}, Tool{Name: "container_logs", Server: "dock", Description: "Print what a container writes."}))
	for query, finds := range map[string]bool{
		"launch some nginx wobblo container": true, "I need an nginx wobblo container": true, "an nginx wobblo container with haproxy": true,
		"his nginx wobblo loves the haproxy container": false,
	} {
		if got := find(x, query); (got != nil) != finds {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

func TestRandomLettersFindNothing(t *testing.T) {
	x := New(shop())
	r := rand.New(rand.NewSource(2))
	wrong := 0
	for range 200 {
		var words []string
		for range 1 + r.Intn(4) {
			word := make([]byte, 3+r.Intn(8))
			for i := range word {
				word[i] = byte('a' + r.Intn(26))
			}
			words = append(words, string(word))
		}
		if find(x, strings.Join(words, " ")) != nil {
			wrong++
		}
	}
	if wrong > 4 {
		t.Errorf("%d of 200 questions of random letters find tools", wrong)
	}
}

// Two indexes of the same tools give the same answers, with the same scores.
func TestSameEachTime(t *testing.T) {
	a, b := New(shop()), New(shop())
	for _, query := range []string{"list the files and mails of a folder", "from to", "查询天气和车站"} {
		if x, y := a.Explain(query, 20, every), b.Explain(query, 20, every); !reflect.DeepEqual(x, y) {
			t.Errorf("%q: %+v, then %+v", query, x, y)
		}
	}
}

// An index is the same, however many read its tools at the same time.
func TestSameForEveryNumberOfReaders(t *testing.T) {
	tools := many(5*leastRead + 7)
	one := readAll(tools, defaults(), 1)
	one.splitNames()
	want := one.index()
	for _, readers := range []int{2, 3, 5, 100} {
		b := readAll(tools, defaults(), readers)
		b.splitNames()
		x := b.index()
		same := func(a, b word) bool {
			return a.text == b.text && a.id == b.id && a.term == b.term && a.stop == b.stop && a.plain == b.plain
		}
		if !slices.EqualFunc(x.words, want.words, same) || !reflect.DeepEqual(x.postings, want.postings) || !reflect.DeepEqual(x.inNames, want.inNames) ||
			!reflect.DeepEqual(x.order, want.order) || !slices.Equal(x.rarity, want.rarity) {
			t.Errorf("%d readers make another index", readers)
		}
		for _, query := range []string{"open issues of the repo", "triangle_area_3 and send a mail"} {
			if got, first := x.Explain(query, 20, every), want.Explain(query, 20, every); !reflect.DeepEqual(got, first) {
				t.Errorf("%d readers, %q: %+v, not %+v", readers, query, got, first)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	x := New(shop())
	hits := x.Explain("delete documents", 1, every)
	if len(hits) != 1 || len(hits[0].Reasons) != 2 {
		t.Fatalf("%+v", hits)
	}
	r := hits[0].Reasons[0]
	if r.Word != "delete" || r.Matched != "delet" || !reflect.DeepEqual(r.Fields, []string{"first sentence"}) || r.Score <= 0 {
		t.Errorf("%+v", r)
	}
	for _, h := range x.Find("delete documents", 1) {
		if h.Reasons != nil {
			t.Errorf("Find gives reasons: %+v", h)
		}
	}
}

func TestCount(t *testing.T) {
	x := New(shop())
	for _, n := range []int{-1, 0, 1, 3} {
		if got := x.Find("return a file", n); len(got) != max(n, 0) {
			t.Errorf("%d asked, %d found", n, len(got))
		}
	}
	if got := New(nil).Find("read a file", 5); got != nil {
		t.Errorf("an index without tools finds %v", got)
	}
}

func TestFields(t *testing.T) {
	x := New([]Tool{
		{Name: "alpha", Description: "Do one thing.", Tags: []string{"ferret"}},
		{Name: "beta", Description: "Do one thing.", Examples: []string{"How heavy is a walrus?"}},
		{Name: "gamma", Server: "lighthouse", Description: "Do one thing."},
		{Name: "delta", Description: "Do one thing.", Parameters: json.RawMessage(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"hinge":{"description":"of a cupboard","enum":["brass"]}}}}}}`)},
		{Name: "epsilon", Description: "Do one thing.", Parameters: json.RawMessage(`{"broken`)},
	})
	for query, want := range map[string]string{"ferrets": "alpha", "walrus": "beta", "lighthouses": "gamma", "hinges": "delta", "cupboard": "delta", "brass": "delta"} {
		if got := find(x, query); !slices.Equal(got, []string{want}) {
			t.Errorf("%q finds %v, not %s", query, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"getUserName":        "get user name",
		"HTTPServer_v2-beta": "http server v2 beta",
		"list of URLs, IDs":  "list of urls ids",
		"what's mp3":         "what mp3",
		"查询天气abc":            "查询 询天 天气 abc",
		"é1 Über":            "é1 über",
		"一 A":                "一 a",
		"":                   "",
	} {
		if got := strings.Join(split(text), " "); got != want {
			t.Errorf("%q is split into %q, not %q", text, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"read /etc/hosts":                      "read path directory",
		"open ~/a/b.csv now":                   "open file path csv now",
		"get https://www.github.com/a/b?c=d":   "get url web github com",
		"is example.com free?":                 "is domain url website example com free?",
		"mail ann@example.org":                 "mail email address",
		"convert notes.md.":                    "convert file md",
		"math.gcd and 3.5 or a/b stay, e.g. x": "math.gcd and 3.5 or a/b stay, e.g. x",
	} {
		if got := values(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{{"a", "a"}: 0, {"weather", "wether"}: 1, {"form", "from"}: 1, {"list", "lost"}: 1, {"abc", "abcd"}: 1, {"kitten", "sitting"}: 3, {"a", "abcd"}: 3} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("%v: %d, not %d", pair, got, want)
		}
	}
}

// Any question is answered.
func FuzzFind(f *testing.F) {
	x := New(shop())
	for _, s := range []string{"read a file", "a.b/c@d.e://", "`'\"", "查a询B", "\xff\xfeA", "C:\\x.txt", "I'", "URLs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, h := range x.Explain(query, 5, every) {
			if h.Tool < 0 || h.Tool >= x.Len() {
				t.Fatalf("%q finds tool %d", query, h.Tool)
			}
		}
		New([]Tool{{Name: query, Server: query, Description: query, Parameters: json.RawMessage(query)}}).Find(query, 3)
	})
}

// many returns as many tools as asked, with words of their own.
func many(n int) []Tool {
	r := rand.New(rand.NewSource(3))
	base := shop()
	tools := make([]Tool, n)
	for i := range tools {
		t := base[r.Intn(len(base))]
		t.Name = fmt.Sprintf("%s_%d", t.Name, i)
		t.Server = fmt.Sprintf("server%d", i/40)
		for range 40 {
			t.Description += " " + base[r.Intn(len(base))].Name + fmt.Sprint(r.Intn(2000))
		}
		tools[i] = t
	}
	return tools
}

func BenchmarkNew3000(b *testing.B) {
	tools := many(3000)
	for b.Loop() {
		New(tools)
	}
}

func BenchmarkFind3000(b *testing.B) {
	x := New(many(3000))
	for b.Loop() {
		x.Find("find the open issues of the repository and mail them to Ann with a chart", 20)
	}
}

func every(int) bool { return true }
