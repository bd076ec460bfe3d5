package toolindex

import (
	"slices"
	"strings"
	"testing"
)

// Questions that a model wrote find their tool, in another language too; they take no
// place of another tool's name, however often they have it.
func TestQuestionsOfAModel(t *testing.T) {
	tools := shop()
	for i := range tools {
		if tools[i].Name == "air_quality" {
			tools[i].Questions = []string{"Can I go jogging in the smog?", "今天雾霾严重吗", "适合户外跑步吗"}
		}
	}
	x := New(tools)
	for _, query := range []string{"雾霾大不大", "今天可以去户外跑步吗", "is there smog?"} {
		if got := find(x, query); len(got) == 0 || got[0] != "air_quality" {
			t.Errorf("%q finds %q", query, got)
		}
	}
	hits := x.Explain("雾霾", 1, every)
	if len(hits) != 1 || !slices.Equal(hits[0].Reasons[0].Fields, []string{"a model's questions"}) {
		t.Errorf("%+v", hits)
	}
	thief := Tool{Name: "grab", Server: "thief", Description: "Does things."}
	for _, other := range tools {
		words := strings.NewReplacer("_", " ", "-", " ").Replace(other.Name)
		for range 12 {
			thief.Questions = append(thief.Questions, "please "+words+" "+other.Name, other.Description)
		}
	}
	x = New(append([]Tool{thief}, tools...))
	for _, other := range tools {
		for _, query := range []string{other.Name, "call " + other.Name, strings.NewReplacer("_", " ", "-", " ").Replace(other.Name)} {
			if got := find(x, query); len(got) == 0 || got[0] != other.Name {
				t.Errorf("%q finds %q", query, got)
			}
		}
		if got := find(x, other.Description); !slices.Contains(got, other.Name) {
			t.Errorf("%q finds %q", other.Description, got)
		}
	}
	for _, query := range []string{"hello", "早上好", "thank you so much", "qwzx vbnm"} {
		if got := find(x, query); got != nil {
			t.Errorf("%q finds %q", query, got)
		}
	}
}

// A question in Chinese finds the tool that is described in Chinese, whatever its name.
func TestChineseToolsAreFound(t *testing.T) {
	about := map[string]string{
		"t01": "查询城市的天气预报，包括温度和降水", "t02": "发送电子邮件给一个或多个收件人", "t03": "读取表格文件中某个区域的数据", "t04": "把文本翻译成另一种语言",
		"t05": "查询两个城市之间的火车票和余票", "t06": "在地图上搜索附近的餐厅", "t07": "删除数据库中的一条记录", "t08": "生成二维码图片",
		"t09": "查询股票的实时行情", "t10": "把人民币换算成其他货币", "t11": "创建日历中的会议并邀请参加者", "t12": "查询快递的物流状态",
		"t13": "压缩文件夹为压缩包", "t14": "识别图片中的文字", "t15": "查询公司的工商登记信息", "t16": "播放指定歌手的音乐",
		"t17": "计算贷款的月供", "t18": "搜索学术论文和作者", "t19": "比较两个文本文件的差异", "t20": "预订酒店房间",
	}
	var tools []Tool
	for name, text := range about {
		tools = append(tools, Tool{Name: name, Description: text})
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	x := New(tools)
	for query, want := range map[string]string{
		"明天上海的天气怎么样": "t01", "帮我发一封邮件": "t02", "打开这个表格看看数据": "t03", "这段话翻译成英语": "t04", "北京到上海的火车票": "t05", "附近有什么餐厅": "t06",
		"从数据库里删除这条记录": "t07", "做一个二维码": "t08", "茅台股票现在多少钱": "t09", "一百人民币能换多少货币": "t10", "约一个会议": "t11", "我的快递到哪了": "t12",
		"把文件夹打成压缩包": "t13", "图片里写的什么文字": "t14", "这家公司的登记信息": "t15", "放一首歌手的音乐": "t16", "贷款每月的月供": "t17", "找这位作者的论文": "t18",
		"两个文件有什么差异": "t19", "订一个酒店": "t20",
	} {
		if got := find(x, query); !slices.Contains(got, want) {
			t.Errorf("%q finds %q, not %s", query, got, want)
		}
	}
}
