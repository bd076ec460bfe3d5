package eval

import "github.com/weirhost/weir/sdk/tool"

// A Kind is what a question asks of a model.
type Kind string

// The kinds of questions.
const (
	OneTool  Kind = "one tool"
	InARow   Kind = "two in a row"
	Parallel Kind = "parallel"
	NoTool   Kind = "no tool"
	LoadBack Kind = "load back"
)

// A Question has a known answer, and known calls that lead to it.
type Question struct {
	Name   string
	Kind   Kind
	Locale tool.Locale
	Ask    string
	// Steps are the calls of each reply. Their order within a step is free.
	Steps [][]Want
	// Answer are the texts that the answer contains, each with its alternatives, divided by |.
	Answer []string
}

// A Want is a call: its arguments have these values, each with its alternatives, divided by
// |. "*" is any value.
type Want struct {
	Tool string
	Args map[string]string
}

// Questions returns all questions, in their order.
func Questions() []Question {
	weather := func(city string) Want { return Want{weatherTool, map[string]string{"city": city}} }
	rate := func(from, to string) Want { return Want{rateTool, map[string]string{"from": from, "to": to}} }
	station := func(city string) Want { return Want{stationTool, map[string]string{"city": city}} }
	level := func(id string) Want { return Want{levelTool, map[string]string{"station": id}} }
	order := func(id string) Want { return Want{orderTool, map[string]string{"order": id}} }
	customer := func(id string) Want { return Want{customerTool, map[string]string{"customer": id}} }
	log := func(day string) Want { return Want{logTool, map[string]string{"date": day}} }
	load := func(day string) Want { return Want{tool.LoadHistory, map[string]string{"uuid": logID(day)}} }
	step := func(calls ...Want) []Want { return calls }
	steps := func(all ...[]Want) [][]Want { return all }
	return []Question{
		{"weather in a city", OneTool, tool.En, "What is the weather in Bergen?", steps(step(weather("Bergen"))), []string{"11"}},
		{"an exchange rate", OneTool, tool.En, "How many Swiss francs (CHF) do I get for one euro (EUR) today?", steps(step(rate("EUR", "CHF"))), []string{"0.94"}},
		{"state of an order", OneTool, tool.En, "When was order A-4471 sent?", steps(step(order("A-4471"))), []string{"12 March|March 12|03-12|12th"}},
		{"level at a station", OneTool, tool.En, "How high is the water at gauge K-08?", steps(step(level("K-08"))), []string{"0.96"}},
		{"weather, Chinese", OneTool, tool.Zh, "北京今天天气怎么样？", steps(step(weather("北京|Beijing"))), []string{"24"}},
		{"an order, Chinese", OneTool, tool.Zh, "订单 B-2050 到哪里了？", steps(step(order("B-2050"))), []string{"武汉|Wuhan"}},
		{"station, then level", InARow, tool.En, "How high is the river in Ulm? Find the gauge of the city first, then ask for its level.", steps(step(station("Ulm")), step(level("K-17"))), []string{"4.62"}},
		{"order, then customer", InARow, tool.En, "To which city does the customer of order A-4471 belong?", steps(step(order("A-4471")), step(customer("C-93"))), []string{"Graz"}},
		{"station, then level, Chinese", InARow, tool.Zh, "宜昌的水位是多少？先查该城市的水位站编号，再查水位。", steps(step(station("宜昌|Yichang")), step(level("K-31"))), []string{"43.70|43.7"}},
		{"order, then customer, Chinese", InARow, tool.Zh, "订单 B-2050 的客户叫什么名字？", steps(step(order("B-2050")), step(customer("C-12"))), []string{"林晓"}},
		{"weather in two cities", Parallel, tool.En, "Which is warmer today, Bergen or Lisbon?", steps(step(weather("Bergen"), weather("Lisbon"))), []string{"Lisbon"}},
		{"three levels", Parallel, tool.En, "Which of the gauges K-08, K-17 and K-31 has the lowest water?", steps(step(level("K-08"), level("K-17"), level("K-31"))), []string{"K-08"}},
		{"two rates, Chinese", Parallel, tool.Zh, "1 欧元（EUR）和 1 美元（USD）今天各能换多少人民币（CNY）？", steps(step(rate("EUR", "CNY"), rate("USD", "CNY"))), []string{"7.83", "7.12"}},
		{"a sum", NoTool, tool.En, "What is 7 plus 5? Answer with the number.", nil, []string{"12|twelve"}},
		{"a greeting", NoTool, tool.En, "Thank you, that was all. Good bye!", nil, nil},
		{"a word", NoTool, tool.En, "In one sentence: what does the word \"barometer\" mean?", nil, []string{"pressure"}},
		{"an idiom, Chinese", NoTool, tool.Zh, "用一句话解释成语“画蛇添足”的意思。", nil, []string{"多余|多此一举|不必要"}},
		{"a line of a long log", LoadBack, tool.En, "Read the pump log of 2026-05-03. Which calibration code was noted that day?", steps(step(log("2026-05-03")), step(load("2026-05-03"))), []string{"QX-7731"}},
		{"a numbered line of a long log", LoadBack, tool.En, "What is in line 187 of the pump log of 2026-05-04? Say what it reports.", steps(step(log("2026-05-04")), step(load("2026-05-04"))), []string{"valve 9"}},
		{"a line of a long log, Chinese", LoadBack, tool.Zh, "查看 2026-05-05 的水泵日志，当天记录的更换滤芯（filter）的编号是什么？", steps(step(log("2026-05-05")), step(load("2026-05-05"))), []string{"FL-208"}},
	}
}
