package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// decodeArgs reads the arguments of a call, a JSON object; nothing at all is
// read as {}. Its errors are bad_args and name the argument at fault.
func decodeArgs(raw []byte, args any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if raw[0] != '{' {
		return Errorf(tool.BadArgs, "Write the arguments as {\"name\": value}.",
			"The arguments must be a JSON object.").Zh("请把参数写成 {\"名称\": 值}。", "参数必须是一个 JSON 对象。")
	}
	if quick(string(raw), args) {
		return nil
	}
	reflect.ValueOf(args).Elem().SetZero() // of what was begun
	err := json.Unmarshal(raw, args)
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && isIntegral(bad) {
		if plain, rewritten := plainIntegers(raw); rewritten == nil {
			err = json.Unmarshal(plain, args)
		}
	}
	return argsError(err)
}

func argsError(err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := bad.Field
		if field == "" {
			field = "(all)"
		}
		kind := jsonKind(bad.Type.Kind().String())
		return Errorf(tool.BadArgs, "Give "+quote(field)+" as "+kind.String()+".",
			"Argument %s must be %s, not %s.", quote(field), kind, bad.Value).
			Zh("请将 "+quote(field)+" 写成"+kind.Zh+"。", "参数 %s 必须是%s，而不是 %s。")
	}
	return Errorf(tool.BadArgs, "Write the arguments as one valid JSON object.",
		"The arguments are not valid JSON: %s.", strings.TrimPrefix(err.Error(), "json: ")).
		Zh("请把参数写成一个有效的 JSON 对象。", "参数不是有效的 JSON：%s。")
}

// isIntegral reports whether a number was refused only because it was written
// as 5.0 or 5e0; a JSON Schema counts both as integers.
func isIntegral(e *json.UnmarshalTypeError) bool {
	return strings.HasPrefix(e.Value, "number ") && strings.Contains(e.Type.Kind().String(), "int")
}

// plainIntegers rewrites whole numbers to plain digits, all others it keeps.
func plainIntegers(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil && err != io.EOF {
		return nil, err
	}
	return json.Marshal(rewriteNumbers(v))
}

func rewriteNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = rewriteNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = rewriteNumbers(v[i])
		}
	case json.Number:
		// Beyond 2^53 a float no longer tells one whole number from the next.
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return v
}

// jsonKind names a Go kind as the schema of a tool does.
func jsonKind(kind string) tool.Text {
	switch {
	case strings.Contains(kind, "int"):
		return tool.Text{Format: "an integer", Zh: "整数"}
	case strings.HasPrefix(kind, "float"):
		return tool.Text{Format: "a number", Zh: "数值"}
	case kind == "bool":
		return tool.Text{Format: "true or false", Zh: " true 或 false"}
	case kind == "slice" || kind == "array":
		return tool.Text{Format: "a list", Zh: "列表"}
	case kind == "string":
		return tool.Text{Format: "a string", Zh: "字符串"}
	}
	return tool.Text{Format: "an object", Zh: "对象"}
}

func quote(s string) string { return "\"" + s + "\"" }
