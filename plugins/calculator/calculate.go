package main

import (
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxExpression = 4000 // characters
	maxEcho       = 200  // characters of an expression that are repeated in the answer
)

type args struct {
	Expression string `json:"expression"`
}

// calculate answers "expression = value".
func calculate(c *guest.Call, in args) (guest.Result, error) {
	expr := strings.TrimSpace(in.Expression)
	if n := len([]rune(expr)); n == 0 || n > maxExpression {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Write for example \"(3 + 4) * 2^10\".",
			"Argument \"expression\" must have 1 to %d characters; it has %d.", maxExpression, n).
			Zh("请写成例如 \"(3 + 4) * 2^10\"。", "参数 \"expression\" 须有 1 到 %d 个字符，现有 %d 个。")
	}
	v, err := eval(expr)
	if err != nil {
		return guest.Result{}, err
	}
	echo := strings.Join(strings.Fields(strings.TrimRight(expr, "=＝? ？")), " ")
	if len([]rune(echo)) > maxEcho {
		echo = c.Say("result", "结果")
	}
	return guest.Text(echo + " " + v.write(c.Say)), nil
}
