package limit

import (
	"strconv"

	"github.com/weirhost/weir/sdk/tool"
)

// LayerName returns the name of a layer of limits, such as "the agent's limit". Notices and
// all views write it so.
func LayerName(by tool.Layer, l tool.Locale) string {
	w := words(l)
	switch by {
	case tool.LayerNone:
		return ""
	case tool.LayerTool:
		return w.pick("the tool's limit", "工具上限")
	case tool.LayerOperator:
		return w.pick("the operator's limit", "管理员上限")
	case tool.LayerCeiling:
		return w.pick("the ceiling", "系统上限")
	case tool.LayerAgent:
		return w.pick("the agent's limit", "智能体上限")
	case tool.LayerRound:
		return w.pick("this round's share", "本步份额")
	case tool.LayerLoad:
		return w.pick("the room left", "剩余空间")
	}
	return w.pick("the default limit", "默认上限")
}

// Name returns the name of a limit of n units, such as "the agent's limit of 12,000" or
// "the tool's limit of 71 lines". Notices and all views write it so. Characters are the
// usual unit, which English leaves out.
func Name(by tool.Layer, n int, unit tool.Unit, l tool.Locale) string {
	w := words(l)
	number := w.pick(thousands(n), strconv.Itoa(n))
	switch unit {
	case tool.Lines:
		number += w.pick(" lines", " 行")
	case tool.EntryUnit:
		number += w.pick(" results", " 个结果")
	default:
		number += w.pick("", " 字符")
	}
	between := " of "
	if by == tool.LayerLoad {
		between = ", "
	}
	return LayerName(by, l) + w.pick(between, " ") + number
}
