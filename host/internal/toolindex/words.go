package toolindex

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// stem returns the stem of a word in lower case: the form in which words are compared.
func stem(word string) string {
	if isLatin(word) {
		return english.Stem(word, true)
	}
	return word
}

func isLatin(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

// split returns the words of a text, as eachWord does.
func split(text string) []string {
	var words []string
	eachWord(text, func(w string) { words = append(words, w) })
	return words
}

// eachWord calls yield with the words of a text in lower case: letters and digits,
// split where the case changes as in getUserName, and pairs of Chinese characters.
func eachWord(text string, yield func(word string)) {
	for i := 0; i < len(text); {
		if end := plainEnd(text, i); end > i { // most words
			yield(text[i:end])
			i = skipShortened(text, end)
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r >= utf8.RuneSelf && unicode.Is(unicode.Han, r):
			i = eachPair(text, i, yield)
		case wordRune(r):
			end := wordEnd(text, i)
			yield(strings.ToLower(text[i:end]))
			i = skipShortened(text, end)
		default:
			i += n
		}
	}
}

// plainEnd returns where the word at i ends if it has small Latin letters and digits
// alone, else i.
func plainEnd(text string, i int) int {
	end := i
	for end < len(text) && ('a' <= text[end] && text[end] <= 'z' || '0' <= text[end] && text[end] <= '9') {
		end++
	}
	if end < len(text) && (text[end] >= utf8.RuneSelf || wordRune(rune(text[end]))) {
		return i
	}
	return end
}

// eachPair yields the pairs of neighbouring Chinese characters from place i on, and
// returns where they end.
func eachPair(text string, i int, yield func(string)) int {
	first, before := i, -1
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.Is(unicode.Han, r) {
			break
		}
		if before >= 0 {
			yield(text[before : i+n])
		}
		before, i = i, i+n
	}
	if before == first {
		yield(text[first:i])
	}
	return i
}

// skipShortened returns the place after the end of a shortened word: what's, I'm.
func skipShortened(text string, i int) int {
	if i == len(text) || text[i] != '\'' && text[i] != "’"[0] {
		return i
	}
	for _, mark := range []string{"'", "’"} {
		if rest, ok := strings.CutPrefix(text[i:], mark); ok {
			end := len(text) - len(rest)
			for end < len(text) && text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' {
				end++
			}
			return end
		}
	}
	return i
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordEnd returns where the word at i ends: HTTPServer is HTTP and Server, URLs is one
// word, and so is what has digits, as mp3.
func wordEnd(text string, i int) int {
	before, n := utf8.DecodeRuneInString(text[i:])
	for j := i + n; j < len(text); j += n {
		var r rune
		r, n = utf8.DecodeRuneInString(text[j:])
		if !wordRune(r) || r >= utf8.RuneSelf && unicode.Is(unicode.Han, r) {
			return j
		}
		if unicode.IsUpper(r) && !unicode.IsDigit(before) {
			after, m := utf8.DecodeRuneInString(text[j+n:])
			last, _ := utf8.DecodeRuneInString(text[min(j+n+m, len(text)):])
			plural := after == 's' && !wordRune(last) && unicode.IsUpper(before)
			if !unicode.IsUpper(before) || unicode.IsLower(after) && !plural {
				return j
			}
		}
		before = r
	}
	return len(text)
}

// stop lists words that say nothing about a tool: grammar, politeness, greetings, and
// what every request is about.
var stop = lazily(wordSet, `a about above actually after again ain all almost alright already also always am amazing an and
any anybody anyone anything are aren as ask at aware away awesome aww be because been before being believe best better between both bye but by bit
can cannot chat chatbot chatgpt cheers come could couldn currently day dear did didn do does doesn doing don done down during each either else
enough especially etc even ever every everyone everything evening exactly excellent excited feel few fine for fine friend from further gpt give
given glad go goes going gonna good goodbye got great greetings had happen happy has hasn have having he hello help helping her here hers hey hi his how
however i if ill im in into interested is isn it its just keep kind kindly know let like likely little ll long looking look lot love
lovely made make many may maybe me mean might mine more morning most much must my myself name need needs never new next nice night no none nope nor not
nothing now of off ok okay on once one ones only onto or other our out over own particular perhaps please possible possibly pretty provide
quite rather re really right said same say see seem shall she should show simply since so some somebody someone something soon sorry
specific still stuff such sup sure take talk tell than thank thanks that the their them then there these they thing things think this those though through
tired to today together tomorrow tonight too tool tools toward truly try trying two under until up upon us use used useful user using ve very via wait wanna want wanted wants was way
we well were what whatever when where whether which while who whom whose why will wish with within without won wonder wondering wonderful would wow yeah
yep yes yesterday yet yo you your yours yourself able assist assistance assistant afternoon cool whats thats id dont cant lol haha hmm ah oh uh um hmm mm bored bye welcome
adorable apologies brilliant congrats congratulations fantastic gosh goodnight gotcha incredible indeed interesting omg oops perfect perfectly splendid super superb
terrific tired truly unbelievable
bonjour bonsoir ciao danke gracias grazie hallo hola merci obrigado obrigada salut
你好 您好 谢谢 多谢 再见 早上 上好 晚上 晚安 早安 好的 是的 请问 我想 想要 帮我 可以 怎么 什么 一个 一下 我们 你们 他们 这个 那个 哈哈 在吗 你是 是谁 么样 怎样 今天 天好 明天 昨天 后天 前天 现在 拜拜 回头 再聊 辛苦 没事 没关 客气 对不 不起 抱歉 高兴 认识 新年 快乐 好梦 聪明 厉害 太好 很好 真好 真棒 哈喽 嗨嗨 您们 怎样 在干 干嘛 过得 得怎`)

// lazily returns what f makes of a text when it is first needed: most processes search for
// no tools.
func lazily[T any](f func(string) T, text string) func() T {
	return sync.OnceValue(func() T { return f(text) })
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// weak lists words that many questions have and that say little: they count half.
var weak = lazily(wordSet, `access available best better common complete comprehensive content context create current data day describe detail detailed details
different example experience explain explore fact feature features find first full generate get important include includes including info
information latest list local main make method new number open option options order people person place popular process project provide question read real
recent recommend recommendation recommendations related request return review search set shared show start step suggest suggestion suggestions support system
text time top type value various view way work world year years user users run perform help discover check`)

// smallTalk lists words that say nothing about a tool in a text that has no others and
// asks for nothing: praise, thanks, moods, farewells, what people ask each other.
var smallTalk = lazily(stemSet, `absolutely adorable afraid age agree agreed alive allright angry annoyed annoying anytime apologies apologize apology appreciate
appreciated asleep bad beautiful beer bless bloody born boy boyfriend brilliant bro brother buddy busy calm care careful charming chatting chill christmas clever coffee
cold confused congrats congratulations correct crazy curious cute damn dear delighted delicious died disagree dream dreams drink dude dumb easter easy enjoy enjoyed
exhausted fabulous fair family fantastic fault favorite favourite feelings feels fellas fellow folks fool forget forgive forgot fun funny genius gentleman girl
girlfriend god goodnight gosh gotcha grateful guess guy guys happier happiness hate hear heard heart heck home honest honestly honey hope hopefully hug hugs human
hungry hurt hurry impressed impressive incredible indeed intelligent interesting joking jolly joy kidding kiss lady ladies later laugh laughing lazy life lonely lord loud luck
lucky mad magnificent man marvelous married mate matter maybe mean meet merry mind miss missed mistake moment mood mum neat nervous nonsense offended old outstanding
pal pardon patience patient peace perfect perfectly pleasant pleased pleasure polite promise proud quick ready ridiculous robot rough rude sad safe safely saved scared sense
serious seriously sick silly sir sister sleep sleepy slept smart smile sound sounds soul splendid stay strange stress stressed stuff stupid super superb surprise
surprised surprising sweet sweetheart swell talking tea terrible terrific thankful thrilled tight tonight true truly unbelievable understand understood upset wait
waiting warm weekend weird wicked wise work worried worries worry worse worst xmas young yummy
abend adios alles amigo amigos arigato beaucoup bem bien bis bald bitte bom bonjour bonne bonsoir boa buenas buenos buongiorno buonasera chào ciao danke dank
dia dias días encantado grazie grüezi guten hallo hei hej hola mañana merci merhaba mille morgen moi nacht noches nuit obrigada obrigado olá prego salut salve schön
servus sim tack tak tardes tschüss tudo tutti vielen xin ça bạn`)

// requests lists words with which a text asks for something where it begins with them.
var requests = lazily(wordSet, `add analyse analyze append archive ask book build buy calculate call cancel change check choose clean click clone close combine compare compute
connect convert copy count create delete deploy describe detect determine disable discover download draw edit enable enter estimate evaluate examine execute explain
explore export extract fetch fill filter find fix flip format gather generate get give identify import insert inspect install join kill launch list load locate look
lookup make measure merge modify monitor move need open order organize parse pick plan play plot post predict prepare print process produce provide publish pull push
put query rank read recommend record reduce register remove rename render replace report request reserve reset resize restart restore retrieve return review roll rotate
run save scan schedule scrape screenshot search select send set show simulate solve sort split start stop store submit subscribe suggest sum summarise summarize switch
take tell test track train transcribe transform translate turn undo unzip update upload use validate verify view visualise visualize watch write zip`)

// requestPhrases are with what a text asks for something anywhere.
var requestPhrases = lazily(wordLists, `please
can you
could you
would you
i need
i want
i would like
looking for
how to
how do i
how can i
how many
how much
help me
show me
give me
find me
find out
what is
what are
where is
where are
where can i
which`)

// chineseRequests are characters and words with which a Chinese text asks for something.
var chineseRequests = strings.Fields("请 帮 查 找 搜 给我 我要 我想 需要 什么 怎么 如何 多少 哪 几 谁")

// relations lists words that a description of something has, and sentences those that a
// text has which says something about somebody.
var relations, sentences = lazily(wordSet, "about between by for from in near with"),
	lazily(wordSet, "am are be been did do does had has have he her him his i is it its me my our she that their them they this us was we were will you your")

// asks reports whether words ask for something: they are a request or a question.
func asks(words []string) bool {
	return len(words) > 0 && requests()[words[0]] ||
		slices.ContainsFunc(requestPhrases(), func(phrase []string) bool { return indexOf(words, phrase) >= 0 })
}

// seeks reports whether a text asks for something, or describes what is looked for.
func seeks(query string) bool {
	words := split(query)
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(words, func(w string) bool { return set[w] })
	}
	return asks(words) || has(relations()) && !has(sentences()) ||
		slices.ContainsFunc(chineseRequests, func(word string) bool { return strings.Contains(query, word) })
}

// indexOf returns where a sequence of words begins; -1: nowhere.
func indexOf(words, phrase []string) int {
	for i := 0; i+len(phrase) <= len(words); i++ {
		if slices.Equal(words[i:i+len(phrase)], phrase) {
			return i
		}
	}
	return -1
}

// stemSet returns the stems of words.
func stemSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[stem(w)] = true
	}
	return set
}

// phrases are what people say without asking for anything, where the words alone might.
var phrases = lazily(wordLists, `meet you
great job
good job
nice job
well done
never mind
happy birthday
merry christmas
happy new year
happy holidays
good luck
no problem
no worries
how old are you
long time no see
made my day
take care
makes sense
made sense
sounds good
sounds great
my bad
see you
you rock
well played
keep it up
good point
good idea
great idea
good question
what a day
how is life
comment ça va
comment allez vous
guten tag
wie geht es dir
wie geht es ihnen
tudo bem com você
por todo
how do you do
safe trip
safe travels
top of the morning
até logo
speak soon`)

// wordLists returns the words of each line.
func wordLists(lines string) (out [][]string) {
	for line := range strings.Lines(lines) {
		out = append(out, strings.Fields(line))
	}
	return out
}

// telling returns the words of a question that say what it is about.
func telling(query string) []string {
	words := split(query)
	for _, phrase := range phrases() {
		words = without(words, phrase)
	}
	smallTalks := !asks(words) && !areKeywords(query)
	words = slices.DeleteFunc(words, func(w string) bool { return stop()[w] || number(w) || particle(w) })
	if smallTalks && !slices.ContainsFunc(words, func(w string) bool { return !smallTalk()[stem(w)] }) {
		return nil
	}
	return words
}

// particle reports whether a pair of Chinese characters has one that is grammar alone.
func particle(word string) bool {
	return utf8.RuneCountInString(word) == 2 && strings.ContainsAny(word, "的了吗呢吧啊呀")
}

// areKeywords reports whether a question is a few words that all say what it is about.
func areKeywords(query string) bool {
	words := split(query)
	return len(words) <= maxKeywords && !slices.ContainsFunc(words, func(w string) bool { return stop()[w] })
}

// without removes a sequence of words.
func without(words, phrase []string) []string {
	for i := indexOf(words, phrase); i >= 0; i = indexOf(words, phrase) {
		words = slices.Delete(words, i, i+len(phrase))
	}
	return words
}

// properNames returns the words that are written as names of places and persons are:
// with a capital letter, and not at the beginning of a sentence.
func properNames(query string) map[string]bool {
	names := map[string]bool{}
	begins := true
	for w := range strings.FieldsSeq(query) {
		if first, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(first) && !begins {
			eachWord(w, func(part string) { names[part] = true })
		}
		begins = strings.HasSuffix(w, ".") || strings.HasSuffix(w, "?") || strings.HasSuffix(w, "!")
	}
	return names
}
