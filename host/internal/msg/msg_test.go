package msg

import (
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

func TestIn(t *testing.T) {
	inner := tool.Textf("%q is not a pattern", "(") // has no translation
	for _, c := range []struct {
		text tool.Text
		want string
	}{
		{tool.Text{}, ""},
		{tool.Textf("ask again"), "请再问一次"},
		{tool.Text{Format: "no such sentence, 100%"}, "no such sentence, 100%"},
		{tool.Textf("%d tools are more than %d", 200, 128), "工具有 200 个，超过了 128 个"},
		{tool.Textf("%s cannot be read: %s", "x.toml", inner), `无法读取 x.toml："(" is not a pattern`},
		{tool.Textf("%s cannot be read: %s", "x.toml", tool.Textf("%s is empty", "it")), "无法读取 x.toml：it 为空"},
		{tool.Textf("%s cannot be read: %s", "x.toml", Errorf("%s is empty", "it")), "无法读取 x.toml：it 为空"},
	} {
		if got := In(tool.Zh, c.text); got != c.want {
			t.Errorf("%q is %q; want %q", c.text, got, c.want)
		}
		if got := In(tool.En, c.text); got != c.text.String() {
			t.Errorf("in English %q is %q", c.text, got)
		}
	}
}

// What Go's packages say of an expression and of a number is the reason alone.
func TestReasonsOfLibraries(t *testing.T) {
	_, expr := regexp.Compile("a(b")
	_, number := strconv.Atoi("x")
	_, large := strconv.ParseInt("99999999999999999999", 10, 64)
	for _, c := range []struct {
		err    error
		en, zh string
	}{
		{expr, "missing closing ): `a(b`", "缺少 )：`a(b`"},
		{number, "invalid syntax", "语法无效"},
		{large, "value out of range", "超出范围"},
	} {
		text := tool.Textf("%s cannot be read: %s", "x", c.err)
		if got := In(tool.En, text); got != "x cannot be read: "+c.en {
			t.Errorf("%q", got)
		}
		if got := In(tool.Zh, text); got != "无法读取 x："+c.zh {
			t.Errorf("%q", got)
		}
	}
}

func TestErrorf(t *testing.T) {
	err := Errorf("%s cannot be read: %w", "x", fs.ErrNotExist)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the wrapped error is lost")
	}
	if got, want := err.Error(), "x cannot be read: file does not exist"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestLocalize(t *testing.T) {
	type inner struct{ Why []tool.Text }
	type outer struct {
		Name  string
		One   *inner
		Table map[string]any
		None  *inner
	}
	in := outer{"x", &inner{[]tool.Text{tool.Textf("ask again")}}, map[string]any{"a": tool.Textf("%d tools are more than %d", 2, 1), "b": 3}, nil}
	out := Localize(tool.Zh, in)
	if got, want := out.One.Why[0].String(), "请再问一次"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if got, want := out.Table["a"].(tool.Text).String(), "工具有 2 个，超过了 1 个"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if out.Table["b"] != 3 || out.None != nil || out.Name != "x" {
		t.Errorf("%+v has changed beside its texts", out)
	}
	if in.One.Why[0].String() != "ask again" {
		t.Error("the value that was given has been modified")
	}
	if same := Localize(tool.En, in); same.One != in.One {
		t.Error("in English there is nothing to copy")
	}
}
