package upstream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/schema"
)

// A mistake in the schema of another server's tool costs that keyword: the others, and the
// names of all parameters, are listed and count.
func TestABrokenSchemaKeepsItsNames(t *testing.T) {
	s := &Server{}
	s.Settings.Name = "odd"
	var budget, outputs schema.Budget
	for _, row := range []struct{ params, want, told, args, fault string }{
		{`{"type":"object","properties":{"a":{"type":"string","description":"d"}},"required":null}`, `"a":{"type":"string","description":"d"}`, `"required" must be a list`, `{"a":1}`, `must be a string`},
		{`{"type":"object","properties":{"filePath":{"type":"string"},"type":"object"},"required":["filePath"]}`, `"required":["filePath"]`, `"properties.type" must be`, `{}`, `"filePath" is missing`},
		{`{"type":"object","properties":{"when":{"type":"string","pattern":"(?<y>x)("},"n":{"type":"integer"}}}`, `"when":{"type":"string"}`, `"properties.when.pattern"`, `{"n":"x"}`, `must be a whole number`},
		{`{"type":"object","properties":{"a":{"$ref":"#/definitions/Gone"},"b":{"type":"array","items":7}}}`, `"a":{},"b":{"type":"array"}`, `#/definitions/Gone`, `{"b":1}`, `must be a list`},
	} {
		d, problems, ok := s.Define(Named{Tool: mcpclient.Tool{Name: "t", Description: "does", Schema: json.RawMessage(row.params)}, As: "odd__t"}, &budget, &outputs)
		var told strings.Builder
		for _, p := range problems {
			told.WriteString(p.String() + "\n")
		}
		if !ok || !strings.Contains(string(d.Spec.Params), row.want) || !strings.Contains(told.String(), row.told) || !strings.Contains(told.String(), "odd__t") {
			t.Errorf("%s: %s; told %s", row.params, d.Spec.Params, told.String())
			continue
		}
		var args any
		dec := json.NewDecoder(strings.NewReader(row.args))
		dec.UseNumber()
		if err := dec.Decode(&args); err != nil {
			t.Fatal(err)
		}
		faults := ""
		for _, f := range d.Schema.Check(args) {
			faults += f.String()
		}
		if !strings.Contains(faults, row.fault) {
			t.Errorf("%s with %s: %q", row.params, row.args, faults)
		}
	}
}
