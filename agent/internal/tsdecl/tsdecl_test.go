package tsdecl

import (
	"encoding/json"
	"testing"
)

func TestLine(t *testing.T) {
	for _, tt := range []struct{ name, about, params, output, want string }{
		{"now", "Tells the time.", `{}`, ``, `declare function now(): Promise<Result>; // Tells the time.`},
		{"grep", "Finds lines.\nAll of them.", `{"type":"object","properties":{"context":{"type":"integer"},"pattern":{"type":"string"},"paths":{"type":"array","items":{"type":"string"}}},"required":["pattern"]}`, ``,
			`declare function grep(args: { pattern: string; context?: number; paths?: string[] }): Promise<Result>; // Finds lines. All of them.`},
		{"pick", "", `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":["string","null"]},"c":{"anyOf":[{"type":"integer"},{"type":"number"},{"type":"boolean"}]},"d":{"type":"array","items":{"enum":[1,2]}}}}`, ``,
			`declare function pick(args?: { a?: "x" | "y"; b?: string | null; c?: number | boolean; d?: (1 | 2)[] }): Promise<Result>;`},
		{"a-b", "Odd.", `{"properties":{"x y":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"z":{"const":1}}}}}`, ``,
			`// tools["a-b"](args?: { "x y"?: { z?: 1 } }): Promise<Result>; // Odd.`},
		{"typed", "", `{"type":"object"}`, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
			`declare function typed(): Promise<Result<{ n: number }>>;`},
		{"loop", "", `{"properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"$ref":"#/$defs/n"}}}`, ``, `declare function loop(args?: { x?: unknown }): Promise<Result>;`},
		{"broken", "", `{`, ``, `declare function broken(): Promise<Result>;`},
	} {
		if got := Line(Tool{tt.name, tt.about, json.RawMessage(tt.params), json.RawMessage(tt.output)}); got != tt.want {
			t.Errorf("%s:\n%s\nwanted\n%s", tt.name, got, tt.want)
		}
	}
}
