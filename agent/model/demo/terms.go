package demo

import (
	"strings"
	"unicode"
)

// terms splits text into what is compared: stemmed words, and pairs of
// neighbouring Chinese characters. Words that mean the same to a script come
// out the same.
func terms(text string) []string {
	var out []string
	var word []rune
	var before rune
	flush := func() {
		if w := stem(string(word)); len(word) > 1 && !stop[w] {
			out = append(out, same(w))
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.Is(unicode.Han, r):
			flush()
			pair := string([]rune{before, r})
			known := synonyms[pair] != ""
			if unicode.Is(unicode.Han, before) && !stop[pair] && (known || !strings.ContainsAny(pair, particles)) {
				out = append(out, same(pair))
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
		before = r
	}
	flush()
	return out
}

func termSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, t := range terms(text) {
		set[t] = true
	}
	return set
}

// stem takes the common endings off an English word.
func stem(w string) string {
	for _, end := range []string{"ing", "ies", "ed", "es", "s"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) > 3 && !strings.HasSuffix(w, "ss") {
			if end == "ies" {
				return cut + "y"
			}
			if end == "es" {
				return cut + "e"
			}
			return cut
		}
	}
	return w
}

func same(w string) string {
	if s, ok := synonyms[w]; ok {
		return s
	}
	return w
}

// particles are Chinese characters that say nothing in a pair.
const particles = "的了吗呢吧么是这那哪些个"

// stop are words that say nothing about which tool is meant.
var stop = set(`a an the is are was were be been do does did of in on at to for from by with and or not no it its this that these those
	what which who whom whose how why when there here i me my we us our you your he she they them can could would will shall should may might
	please tell give let get has have had if then than so as into out up down all any some one two
	say says about me just now use using used each more most other only same very
	什么 怎么 多少 一个 请问 帮我 我想 可以 一下 这个 那个 哪些 是什 么是 吗 有什 么样 怎样 的是 是的 请你 告诉 诉我 给我 里的 里有 中的 有哪 关于`)

// synonyms fold words of both languages together.
var synonyms = folded(map[string]string{
	"compute":   "calculate calculator calculation calculat comput calc arithmetic math 计算 算式 算术",
	"read":      "show view open display look print content 查看 看看 读取 打开 显示 内容",
	"search":    "find where grep locate match mention contain 搜索 查找 哪里 寻找 检索 在哪 匹配 包含 提到",
	"folder":    "directory dir 目录 文件夹 件夹",
	"file":      "文件",
	"structure": "tree layout 结构 目录树",
	"overview":  "map outline 概览 概述 总览",
	"code":      "source codebase repository repo 代码 代码库 仓库",
	"web":       "internet online 联网 网络 上网 网上",
	"page":      "website site url link 网页 页面 网站 链接",
	"fetch":     "download 抓取 下载",
	"make":      "generate create produce generat 生成 创建 制作",
	"text":      "文本",
	"long":      "长文",
	"line":      "行数 第几",
	"excel":     "xlsx workbook spreadsheet 表格 电子",
	"sheet":     "工作表 作表",
	"time":      "clock 时间 几点",
	"date":      "日期 几号",
	"weather":   "天气",
	"news":      "新闻",
	"today":     "今天",
	"current":   "latest 最新 当前",
	"function":  "函数",
	"type":      "类型",
	"project":   "项目",
	"define":    "definition defin definit 定义",
	"translate": "翻译",
})

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

func folded(groups map[string]string) map[string]string {
	m := map[string]string{}
	for to, list := range groups {
		for _, w := range strings.Fields(list) {
			m[w] = to
			m[stem(w)] = to
		}
	}
	return m
}
