package prose

import (
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
	adverbs  = []string{"then, ", "then ", "now, ", "now ", "next, ", "next ", "first, ", "first ", "second, ", "secondly, ", "finally, ", "also, ", "additionally, ", "after that, ", "接下来", "然后", "现在"}
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
