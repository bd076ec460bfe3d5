package turns

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/sdk/tool"
)

// faultOf returns what says what is wrong with an answer in a format: the answer is one JSON
// object, and fits the schema. A schema that costs too much to check, or cannot be read, is
// not checked.
func faultOf(f *agent.Format) func(answer string) tool.Text {
	var rules *schema.Schema
	if len(f.Schema) > 0 {
		rules, _ = schema.Compile(f.Schema) // nil: the answer is checked for JSON alone
	}
	return func(answer string) tool.Text {
		d := json.NewDecoder(bytes.NewReader([]byte(Unfenced(answer))))
		d.UseNumber()
		var v map[string]any
		if d.Decode(&v) != nil || v == nil {
			return tool.Textf("it is not one JSON object")
		}
		if _, err := d.Token(); err != io.EOF {
			return tool.Textf("there is text after the JSON object")
		}
		if rules == nil {
			return tool.Text{}
		}
		if faults := rules.CheckAnswer(v); len(faults) > 0 {
			return faults[0]
		}
		return tool.Text{}
	}
}
