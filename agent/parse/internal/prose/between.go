package prose

import (
	"bytes"
	"slices"
	"strings"
)

// The words that tell a sentence about the next step from one about a result.
var (
	// steps begin a sentence that says what comes next.
	steps = []string{
		"now", "next", "then", "also", "finally", "lastly", "meanwhile", "additionally", "furthermore", "moreover", "besides", "afterwards", "after", "in addition", "at the same time", "in parallel",
		"similarly", "likewise", "first", "firstly", "second", "secondly", "third", "thirdly", "fourth", "fifth", "let", "let's", "let’s", "to", "for", "in order", "by", "using", "calling", "step", "i call", "i use", "i look", "i ask", "i also", "i now", "i then",
		"i'll", "i’ll", "i will", "i'd", "i would", "i'm going", "i am going", "i need", "i should", "i must", "i can", "i want", "i have to", "we'll", "we will", "we need", "we can", "we should", "we also", "we now",
		"here", "here's", "the next", "the second", "the third", "the other", "the last", "another", "one more", "following",
		"接下来", "然后", "再", "现在", "同时", "另外", "此外", "还", "也", "下面", "以下", "最后", "其次", "第二", "第三", "我", "让我", "继续", "以及", "并", "为了", "要", "查询", "调用", "首先", "先",
	}
	// linkers may be in front of a step.
	linkers = []string{"and ", "but ", "so ", "ok, ", "okay, ", "great, ", "sure, ", "alright, ", "certainly, ", "of course, ", "好的，", "那么", "那"}
	// reports are in a sentence that says how something is.
	reports = []string{" is ", " are ", " was ", " were ", " has ", " had ", " have been ", " found ", " shows ", " showed ", " says ", " said ", " got ", " equals ", " it's ", " it’s ", " there's ", " there’s ", "°", " = ", "是", "为", "有", "显示", "查到", "找到", "得到", "已", "度"}
	// turns are titles of what somebody else asks.
	turns = []string{"instruction", "instructions", "user", "human", "question", "input", "task", "example", "system", "assistant", "指令", "用户", "问题", "输入", "任务", "示例"}
	// speakers begin a line that somebody else writes.
	speakers = []string{"user:", "human:", "system:", "assistant:", "tool:", "用户：", "用户:", "助手：", "助手:"}
)

// Answers reports whether the text between two calls has the result of the first one:
// an observation, data, the turn of somebody else, or a sentence that says how
// something is. Sentences that say what comes next, and titles, do not.
func Answers(text string) bool {
	low := strings.ToLower(text)
	if NamesResult(low) {
		return true
	}
	for line := range strings.SplitSeq(low, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if title := strings.TrimLeft(line, "#"); title != line {
			if title = strings.TrimLeft(title, " *"); beginsWith(title, turns) {
				return true
			}
			line = title + ":"
		}
		if strings.ContainsRune("{[|><=", rune(line[0])) || strings.Contains(line, "```") || strings.Contains(line, "<|") || strings.Contains(line, "</") ||
			slices.ContainsFunc(speakers, func(s string) bool { return strings.HasPrefix(line, s) }) {
			return true
		}
		if slices.ContainsFunc(sentences(withoutQuotes(line)), isReport) {
			return true
		}
	}
	return false
}

// courtesies are in a sentence to the reader that says nothing of a result.
var courtesies = []string{"one moment", "a moment", "a second", "please wait", "hold on", "wait", "stand by", "thank", "let me know", "ok", "okay", "sure", "alright", "稍等", "请等", "等一下", "等待", "谢谢", "好的"}

// SaysNext reports whether a text after calls says what comes next, or is a courtesy or a
// question to the reader, and nothing else.
func SaysNext(text string) bool {
	if Answers(text) {
		return false
	}
	for line := range strings.SplitSeq(strings.ToLower(text), "\n") {
		for _, s := range sentences(withoutQuotes(line)) {
			s = strings.TrimRight(s, " *_")
			if !isStep(strings.TrimSpace(s)) && !hasCue(s, courtesies) && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "？") {
				return false
			}
		}
	}
	return true
}

// NamesResult reports whether a text, in lower case, speaks of a result.
func NamesResult(text string) bool { return hasCue(text, resultCues) }

// Announces reports whether the sentence in front of a call, as LeadIn returns it, says
// what its writer does next.
func Announces(sentence string) bool {
	s := strings.TrimSpace(sentence)
	return isStep(s) && !NamesForm(s) && !hasCue(s, resultCues)
}

// promises begin a sentence in which the writer says what it does itself; shows are what
// it may do instead of a call.
var (
	promises = []string{"i'll", "i’ll", "i will", "let me", "i'm going to", "i am going to", "i need to", "i have to", "i must", "i now call", "i call", "我将", "我来", "我会", "让我", "我先", "我需要"}
	adverbs  = []string{"then, ", "then ", "now, ", "now ", "next, ", "next ", "first, ", "first ", "second, ", "secondly, ", "finally, ", "also, ", "additionally, ", "after that, ", "接下来", "然后", "现在", "下面", "首先，", "首先", "接着"}
	shows    = []string{"show", "explain", "demonstrat", "illustrat", "describ", "suggest", "recommend", "give you", "provide you", "walk you", "write", "draft", "展示", "说明", "解释", "演示", "写"}
)

// Promises reports whether the sentence in front of a call, as LeadIn returns it, says
// that its writer makes it: no colon is needed then, and documents do not speak so.
func Promises(sentence string) bool {
	s := strings.TrimSpace(sentence)
	for _, l := range slices.Concat(linkers, adverbs) {
		s = strings.TrimPrefix(s, l)
	}
	return beginsWith(s, promises) && !hasCue(s, shows) && !strings.Contains(s, "know") && Announces(sentence)
}

// The words of a sentence that says that its writer makes a call now.
var (
	// agreements are in front of such a sentence, or are all of it.
	agreements = []string{"of course", "no problem", "got it", "all right", "right away", "understood", "absolutely", "certainly", "alright", "gladly", "great", "right", "okay", "sure", "yes", "ok", "当然可以", "没问题", "明白了", "收到", "明白", "当然", "好的", "可以", "好", "行", "嗯"}
	// deeds begin it.
	deeds = []string{"i'm ", "i’m ", "i am ", "let's ", "let’s ", "let us ", "we'll ", "we will ", "one moment", "just a moment", "a moment", "please wait", "hold on", "here goes", "here we go", "right away", "now ",
		"正在", "调用", "使用", "执行", "马上", "立即", "立刻", "这就", "现在", "开始", "帮您", "帮你", "为您", "为你", "查询", "搜索", "请稍", "稍等", "稍候", "我去", "我查", "我搜", "我帮", "我用", "我调用", "我正在", "我马上", "我这就", "我立即", "我立刻", "我现在", "我为", "我给"}
	// intentions are in it, after what the call is for.
	intentions = []string{" i'll ", " i’ll ", " i will ", " let me ", " i'm going to ", " i am going to ", "，我来", "，我将"}
	// verbs begin it, too, without a subject.
	verbs = []string{"searching", "looking", "checking", "calling", "fetching", "querying", "computing", "calculating", "running", "getting", "reading", "loading", "retrieving", "using", "finding", "opening", "listing", "asking", "trying", "starting", "executing", "invoking", "working", "processing"}
	// others are in a sentence about another time, or about what is not done.
	others = []string{"not ", "n't", "n’t", "never", "cannot", "without", "instead", "would ", "could ", "should ", "might ", "can ", "may ", "if ", "when ", "did ", "was ", "were ", "had ", "have ", "already", "earlier", "before", "ago",
		"已", "刚才", "之前", "曾", "不", "没", "无法", "如果", "假如", "可以", "能够", "应该", "本来", "会用", "需要用"}
)

// Acts reports whether the sentence in front of a call, as LeadIn returns it, says that
// its writer makes it now: it promises, it names a deed under way, or it is only an
// agreement ("Sure."). A question, a report and advice do not.
func Acts(sentence string) bool {
	s := withoutAgreements(withoutNumber(strings.Trim(sentence, " \t*_")))
	return s == "" || acts(s)
}

// pauses may follow an agreement.
const pauses = " ,.!;:—–-，。！；：、"

// withoutAgreements takes off the agreements at the start of a sentence.
func withoutAgreements(s string) string {
	for found := true; found && s != ""; {
		found = false
		for _, c := range agreements {
			if rest, ok := strings.CutPrefix(s, c); ok && (rest == "" || strings.ContainsRune(pauses, []rune(rest)[0])) {
				s, found = strings.TrimLeft(rest, pauses), true
				break
			}
		}
	}
	return s
}

func acts(s string) bool {
	if hasCue(s, others) || hasCue(s, shows) || hasCue(s, formCues) || hasCue(s, resultCues) || strings.ContainsAny(s, "?？") {
		return false
	}
	clauses := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",，、:：", r) })
	return isDeed(s) || hasCue(s, intentions) || len(clauses) > 0 && isDeed(strings.TrimSpace(clauses[len(clauses)-1]))
}

// findings are in a sentence that says how something is, whoever speaks.
var findings = []string{" is ", " are ", " was ", " were ", "是"}

// OnlyActs reports whether a text says that its writer makes a call now, and nothing else
// that could be an answer.
func OnlyActs(text string) (deed bool) {
	for line := range strings.SplitSeq(strings.ToLower(text), "\n") {
		for _, s := range sentences(withoutQuotes(line)) {
			s = withoutAgreements(strings.Trim(s, " .。!！:：*_"))
			switch {
			case s == "":
			case !acts(s), hasCue(" "+s+" ", findings), strings.ContainsAny(s, "0123456789"):
				return false
			default:
				deed = true
			}
		}
	}
	return deed
}

// isDeed reports whether a clause says what its writer does now.
func isDeed(s string) bool {
	for _, l := range slices.Concat(linkers, adverbs) {
		s = strings.TrimPrefix(s, l)
	}
	return beginsWith(s, promises) || beginsWith(s, verbs) || slices.ContainsFunc(deeds, func(d string) bool { return strings.HasPrefix(s, d) })
}

// MayPrecede reports whether an object after text may be a thing of its own, and has no
// label: not the value of an assignment, nor an element or an argument of something else.
func MayPrecede(text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	if len(text) == 0 {
		return false
	}
	c := text[len(text)-1]
	if !isLetter(c|0x20) && (c < '0' || c > '9') && strings.IndexByte(".,!;*_-?", c) < 0 || bytes.HasSuffix(text, []byte("：")) {
		return false
	}
	closed := 0
	for i := len(text) - 1; i >= 0 && text[i] != '\n'; i-- {
		switch text[i] {
		case '}', ']':
			closed++
		case '{', '[':
			if closed--; closed < 0 {
				return false
			}
		}
	}
	return true
}

// The words of a question about calls.
var (
	calls = []string{"call", "invoke", "tool", "function", "调用", "工具", "函数", "接口"}
	looks = []string{"how to", "how do", "how would", "how can", "how should", "how is", "example", "format", "syntax", "look like", "looks like", "show me", "write", "json", "schema", "怎么", "如何", "怎样", "格式", "示例", "例子", "语法", "写法", "样子", "举例"}
)

// AsksForCall reports whether a question asks how a tool is called or what a call looks
// like.
func AsksForCall(question string) bool {
	low := " " + strings.ToLower(question)
	return hasCue(low, calls) && hasCue(low, looks)
}

// Connects reports whether what is in front of a further call is nothing but a word that
// joins it to the one before.
func Connects(sentence string) bool {
	return slices.Contains([]string{"and", "also", "then", "and then", "and also", "next", "plus", "additionally", "secondly", "finally", "和", "以及", "然后", "还有"}, strings.Trim(sentence, " ,.:;*_-"))
}

// isReport reports whether a sentence may say what a call returned.
func isReport(s string) bool {
	s = withoutNumber(s)
	title := strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
	report := hasCue(" "+s+" ", reports)
	digit := strings.ContainsAny(s, "0123456789")
	switch {
	case title && (!report || hasCue(s, []string{"call", "function", "tool"}) && !hasCue(s, []string{"says", "said", "show", "found", "got", "="})):
		return false
	case isStep(s):
		return report && digit
	}
	return report || digit
}

func isStep(s string) bool {
	s = withoutNumber(s)
	for _, l := range linkers {
		s = strings.TrimPrefix(s, l)
	}
	return beginsWith(s, steps)
}

// beginsWith reports whether s begins with one of the words.
func beginsWith(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		rest, ok := strings.CutPrefix(s, w)
		return ok && (rest == "" || w[0] >= 0x80 || !isLetter(rest[0]))
	})
}

// withoutNumber takes off the number, bullet or emphasis at the start of a line.
func withoutNumber(s string) string {
	s = strings.TrimLeft(s, "*-+_•#( ,;")
	rest := strings.TrimLeft(s, "0123456789")
	if rest != s && rest != "" && strings.ContainsRune(".)、", []rune(rest)[0]) {
		s = strings.TrimLeft(strings.TrimLeft(rest, ".)、"), " *_")
	}
	return strings.TrimRight(s, " *_")
}

// sentences splits a line.
func sentences(line string) []string {
	line = strings.NewReplacer(". ", ".\n", "! ", "!\n", "? ", "?\n", "; ", ";\n", "。", "。\n", "！", "！\n", "？", "？\n", "；", "；\n").Replace(line)
	return slices.DeleteFunc(strings.Split(line, "\n"), func(s string) bool { return strings.Trim(s, " .,;*_-") == "" || strings.Trim(s, "0123456789. ") == "" })
}

// withoutQuotes takes out what a line quotes: the values of calls, mostly.
func withoutQuotes(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		c := line[i]
		if (c == '"' || c == '`' || c == '\'') && (i == 0 || line[i-1] == ' ' || line[i-1] == '(') {
			if n := closingQuote(line[i+1:], c); n >= 0 {
				i += n + 1
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// closingQuote returns the offset of the quote c that ends a quotation, or -1.
func closingQuote(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c && (i+1 == len(s) || !isLetter(s[i+1])) {
			return i
		}
	}
	return -1
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || c == '\'' || c >= 0x80 }
