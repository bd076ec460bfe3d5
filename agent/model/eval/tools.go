package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The names of the tools.
const (
	weatherTool  = "get_weather"
	rateTool     = "exchange_rate"
	stationTool  = "find_gauge"
	levelTool    = "river_level"
	orderTool    = "get_order"
	customerTool = "get_customer"
	logTool      = "read_pump_log"
)

// shownChars is how much of a log is shown, in characters: its beginning and its end.
const shownChars = 2000

// facts returns what the tools answer, by tool and arguments in lower case.
func facts() map[string]string {
	const clear, ordered = "sunny, wind 2 m/s", `{"order":%q,"customer":%q,"state":%q}`
	return map[string]string{
		weatherTool + " bergen": "11 °C, rain", weatherTool + " lisbon": "27 °C, " + clear, weatherTool + " oslo": "9 °C, cloudy",
		weatherTool + " 北京": "24 °C，晴", weatherTool + " beijing": "24 °C, " + clear,
		rateTool + " eur chf": "1 EUR = 0.94 CHF", rateTool + " eur cny": "1 EUR = 7.83 CNY", rateTool + " usd cny": "1 USD = 7.12 CNY",
		stationTool + " ulm": "The gauge of Ulm is K-17.", stationTool + " 宜昌": "宜昌的水位站是 K-31。", stationTool + " yichang": "The gauge of Yichang is K-31.",
		levelTool + " k-08": "0.96 m", levelTool + " k-17": "4.62 m", levelTool + " k-31": "43.70 m",
		orderTool + " a-4471": fmt.Sprintf(ordered, "A-4471", "C-93", "sent on 12 March"), orderTool + " b-2050": fmt.Sprintf(ordered, "B-2050", "C-12", "在途：武汉"),
		customerTool + " c-93": `{"customer":"C-93","name":"Ida Berg","city":"Graz"}`, customerTool + " c-12": `{"customer":"C-12","name":"林晓","city":"成都"}`,
		logTool + " 2026-05-03": pumpLog(231, "calibration code QX-7731 noted by the shift"),
		logTool + " 2026-05-04": pumpLog(187, "valve 9 closed by hand"),
		logTool + " 2026-05-05": pumpLog(264, "filter FL-208 put in, the old one taken out"),
	}
}

// pumpLog returns a log of 400 lines, one of which is another one than the rest.
func pumpLog(at int, said string) string {
	var b strings.Builder
	for i := 1; i <= 400; i++ {
		text := fmt.Sprintf("pump %d flow %d l/s", i%6+1, 38+i%7)
		if i == at {
			text = said
		}
		fmt.Fprintf(&b, "%02d:%02d %s\n", i/60, i%60, text)
	}
	return b.String()
}

// logID returns the id of the archived log of a day.
func logID(day string) string {
	return "00000000-0000-4000-8000-0000" + strings.ReplaceAll(day, "-", "")
}

// A box has the tools of the questions. It is safe for concurrent use.
type box struct {
	load  tool.Spec
	facts map[string]string

	mu    sync.Mutex
	calls []tool.Call
	bad   int
}

// specs returns the tools but load, whose parameters are texts that are all required.
func specs() []tool.Spec {
	one := func(name, about, aboutZh, ask, askZh, args string, params ...string) tool.Spec {
		properties := map[string]any{}
		for i := 0; i < len(params); i += 2 {
			properties[params[i]] = map[string]string{"type": "string", "description": params[i+1]}
		}
		required := []string{}
		for i := 0; i < len(params); i += 2 {
			required = append(required, params[i])
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
		if err != nil {
			panic(err) // texts always encode
		}
		s := tool.Spec{Name: name, Description: about, DescriptionZh: aboutZh, Params: schema, Hints: tool.Hints{ReadOnly: true}, Output: tool.Limits{MaxChars: shownChars, Strategy: tool.HeadTail, Keep: []string{tool.KeepLinesNone}}}
		if ask != "" {
			s.Examples = []tool.Example{{Ask: ask, AskZh: askZh, Args: json.RawMessage(args)}}
		}
		return s
	}
	return []tool.Spec{
		one(weatherTool, "Get today's weather in a city.", "查询某城市今天的天气。", "What is the weather in Oslo?", "奥斯陆今天天气怎么样？", `{"city":"Oslo"}`, "city", "the city, such as Oslo"),
		one(rateTool, "Get today's exchange rate between two currencies.", "查询两种货币今天的汇率。", "", "", "", "from", "code of the currency, such as EUR", "to", "code of the other currency"),
		one(stationTool, "Find the number of the river gauge of a city.", "查询某城市的水位站编号。", "", "", "", "city", "the city"),
		one(levelTool, "Get the water level at a river gauge.", "查询某水位站的水位。", "How high is the water at gauge K-02?", "K-02 水位站的水位是多少？", `{"station":"K-02"}`, "station", "number of the gauge, such as K-17"),
		one(orderTool, "Get the state of an order, and the number of its customer.", "查询订单的状态及其客户编号。", "When was order A-1000 sent?", "订单 A-1000 是何时发出的？", `{"order":"A-1000"}`, "order", "number of the order, such as A-1000"),
		one(customerTool, "Get the name and city of a customer.", "查询客户的姓名和城市。", "", "", "", "customer", "number of the customer, such as C-10"),
		one(logTool, "Read the pump log of one day, about 400 lines.", "读取某一天的水泵日志，约 400 行。", "", "", "", "date", "the day, as YYYY-MM-DD"),
	}
}

// Tools implements agent.Toolbox.
func (b *box) Tools() []tool.Spec { return append(specs(), b.load) }

// Call implements agent.Toolbox.
func (b *box) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	r := b.answer(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	if r.Err != nil && r.Err.Code == tool.BadArgs {
		b.bad++
	}
	return r, nil
}

func (b *box) answer(c tool.Call) tool.Result {
	r := tool.Result{CallID: c.ID, Tool: c.Tool}
	args := map[string]any{}
	if json.Unmarshal(c.Args, &args) != nil {
		r.Err = tool.Errorf(tool.BadArgs, "", "the arguments are no object")
		return r
	}
	if c.Tool == tool.LoadHistory {
		return b.loaded(r, c.Args, args)
	}
	var spec tool.Spec
	for _, s := range specs() {
		if s.Name == c.Tool {
			spec = s
		}
	}
	var schema struct{ Required []string }
	if json.Unmarshal(spec.Params, &schema) != nil {
		panic("the schema is not JSON")
	}
	key := c.Tool
	for _, name := range schema.Required {
		value, ok := args[name].(string)
		if !ok || value == "" {
			r.Err = tool.Errorf(tool.BadArgs, "", "the argument %s is a text and required", name)
			return r
		}
		key += " " + strings.ToLower(strings.TrimSpace(value))
	}
	text, ok := b.facts[key]
	if !ok {
		r.Err = tool.Errorf(tool.Failed, "", "nothing is known for these arguments")
		return r
	}
	r = r.WithWhole(text)
	if chars, lines := limit.Count(text); chars > spec.Output.MaxChars {
		day, _ := args["date"].(string)
		r.Ref = &tool.Ref{UUID: logID(day), Query: day, Summary: "a pump log", Chars: chars, Lines: lines, CreatedAt: time.Date(2026, 5, 6, 0, 0, 0, 0, time.UTC)}
	}
	r.Shown = limit.Fit(r, spec.Output, limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool})
	return r
}

// loaded answers load_tool_history: by lines, by an expression, or the whole.
func (b *box) loaded(r tool.Result, raw json.RawMessage, args map[string]any) tool.Result {
	id, _ := args["uuid"].(string)
	text := ""
	for key, log := range b.facts {
		if day, ok := strings.CutPrefix(key, logTool+" "); ok && logID(day) == id {
			text = log
		}
	}
	if text == "" {
		r.Err = tool.Errorf(tool.BadArgs, "", "there is no archived result %q", id)
		return r
	}
	part, err := selected(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), args)
	if err != nil {
		r.Err = tool.Errorf(tool.BadArgs, "", "%s", err)
		return r
	}
	chars, _ := limit.Count(part)
	r.Ephemeral, r.Load = true, &tool.Load{UUID: id, Args: raw, Chars: chars}
	r = r.WithWhole(part)
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 32768, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerLoad, Lines: tool.LayerLoad})
	return r
}

// selected returns the lines that a load selects, with their numbers.
func selected(lines []string, args map[string]any) (string, error) {
	from, to := 1, len(lines)
	whole := func(name string) int {
		switch v := args[name].(type) {
		case float64:
			return int(v)
		case string:
			n, _ := strconv.Atoi(v)
			return n
		}
		return 0
	}
	if text, ok := args["lines"].(string); ok {
		a, z, _ := strings.Cut(text, "-")
		from, _ = strconv.Atoi(strings.TrimSpace(a))
		if to, _ = strconv.Atoi(strings.TrimSpace(z)); z == "" {
			to = from
		}
	}
	if n := whole("head"); n > 0 {
		to = n
	}
	if n := whole("tail"); n > 0 {
		from = len(lines) - n + 1
	}
	var expr *regexp.Regexp
	if text, ok := args["grep"].(string); ok && text != "" {
		var err error
		if expr, err = regexp.Compile("(?i)" + text); err != nil {
			return "", fmt.Errorf("grep is no expression: %w", err)
		}
	}
	var b strings.Builder
	for i := max(from, 1); i <= min(to, len(lines)); i++ {
		if expr == nil || expr.MatchString(lines[i-1]) {
			fmt.Fprintf(&b, "%d: %s\n", i, lines[i-1])
		}
	}
	if b.Len() == 0 {
		return "no line\n", nil
	}
	return b.String(), nil
}
