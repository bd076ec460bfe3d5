package registry

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/host/internal/within"
	"github.com/weirhost/weir/sdk/tool"
)

// selfContained replaces each params_file of a manifest with the schema itself,
// because a packed manifest has no other files. It changes nothing else.
func selfContained(file string, text []byte) ([]byte, *Problem) {
	var m struct {
		Tool []struct {
			ParamsFile string `toml:"params_file"`
		} `toml:"tool"`
	}
	root, ok := tomlpos.Locate(string(text))
	if _, err := tomlpos.Decode(string(text), &m); err != nil || !ok {
		return text, nil // the caller validates it before and after
	}
	tools := root.Key("tool")
	out := string(text)
	for i, t := range slices.Backward(m.Tool) { // backward, to keep earlier offsets valid
		if t.ParamsFile == "" {
			continue
		}
		position := tools.Item(i).Key("params_file")
		problem := &Problem{File: file, Key: "tool.params_file", Fix: tool.Textf("write the schema into [tool.params]")}
		problem.Line, problem.Col = tomlpos.LineCol(string(text), position.At)
		schema, err := beside(file, t.ParamsFile)
		if err != nil {
			err = msg.Errorf("it cannot be read")
		}
		inline := ""
		if err == nil {
			inline, err = tomlOf(schema)
		}
		if err != nil {
			problem.Msg = tool.Textf("the schema in %s cannot be packed: %s", t.ParamsFile, err)
			return nil, problem
		}
		out = out[:position.At] + "params = " + inline + out[literalEnd(out, position.Value):]
	}
	return []byte(out), nil
}

// literalEnd returns the offset after the TOML string that begins at i.
func literalEnd(s string, i int) int {
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if !strings.HasPrefix(s[i:], quote) {
			continue
		}
		for j := i + len(quote); j < len(s); j++ {
			switch {
			case s[j] == '\\' && quote[0] == '"':
				j++
			case strings.HasPrefix(s[j:], quote):
				return j + len(quote)
			}
		}
	}
	return len(s)
}

// tomlOf returns JSON as one TOML value, on one line, in the same order.
func tomlOf(text []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out jsonWriter
	if err := tomlValue(dec, &out); err != nil {
		return "", err
	}
	return strings.ReplaceAll(out.String(), "\x7f", `\u007F`), nil
}

func tomlValue(dec *json.Decoder, out *jsonWriter) error {
	t, err := dec.Token()
	if err != nil {
		return msg.Errorf("it is not valid JSON")
	}
	open, nested := t.(json.Delim)
	switch {
	case t == nil:
		return msg.Errorf("it holds a null, which TOML does not have")
	case !nested:
		out.Literal(t)
		return nil
	}
	out.WriteString(open.String())
	for n := 0; dec.More(); n++ {
		if n > 0 {
			out.WriteString(", ")
		}
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return msg.Errorf("it is not valid JSON")
			}
			out.Literal(key)
			out.WriteString(" = ")
		}
		if err := tomlValue(dec, out); err != nil {
			return err
		}
	}
	end, err := dec.Token()
	if err != nil {
		return msg.Errorf("it is not valid JSON")
	}
	out.WriteString(end.(json.Delim).String())
	return nil
}

// beside reads a file that a manifest names. It must be inside the manifest's folder,
// because a model will read its content.
func beside(manifest, name string) ([]byte, error) {
	return within.Place{Dir: filepath.Dir(manifest), Name: name}.ReadFile(maxManifest)
}
