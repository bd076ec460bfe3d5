package approval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/callargs"
)

func TestRules(t *testing.T) {
	p, err := Policy{Rules: []Rule{
		{Tool: "write_*", Args: map[string]string{"path": "^/workspace/tmp/"}, Action: Allow},
		{Tool: "write_*", Args: map[string]string{"path": `^/workspace/secret/`}, Action: Deny},
		{Tool: "send", Args: map[string]string{"/to/0/name": "^(ann|bob)$", "count": "^[0-3]$"}, Action: Allow},
		{Tool: "get", Args: map[string]string{"url": `^https://example\.com/`}, Action: Allow},
		{Tool: "tag", Args: map[string]string{"/tags": `"red"`, "loud": "^true$"}, Action: Ask},
		{Tool: "odd", Args: map[string]string{"/a~1b/~0c": "^x$"}, Action: Allow},
		{Tool: "?_any", Action: Deny},
		{Tool: "write_note", Action: Ask},
	}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		tool, args string
		rule       int // 0: none
	}{
		{"write_note", `{"path":"/workspace/tmp/a"}`, 1},
		{"write_all", `{"path":"/workspace/tmp/a"}`, 1},
		{"rewrite_note", `{"path":"/workspace/tmp/a"}`, 0},                  // a glob is for the whole name
		{"write_note", `{"path":"/workspace/tmp/../a"}`, 8},                 // it leads elsewhere
		{"write_note", `{"path":"/workspace/tmp/b/../a"}`, 1},               // it winds and stays
		{"write_note", `{"path":"/workspace/tmp/../secret/a"}`, 2},          // a denied path is found after it is resolved
		{"write_note", `{"path":"/workspace//secret/./a"}`, 2},              // and after doubled slashes
		{"write_note", `{"path":["/workspace/tmp/"]}`, 8},                   // a list is matched as JSON
		{"write_note", `{}`, 8},                                             // what is missing matches nothing
		{"write_note", `{"text":"/workspace/tmp/"}`, 8},                     // another argument
		{"send", `{"to":[{"name":"ann"}],"count":3}`, 3},                    // a number, and a name in a list
		{"send", `{"to":[{"name":"ann"}],"count":30}`, 0},                   // every argument must match
		{"send", `{"to":[{"name":"eve"}],"count":3}`, 0},                    //
		{"send", `{"to":{"0":{"name":"bob"}},"count":1}`, 3},                // pointers walk objects as well
		{"send", `{"to":[],"count":1}`, 0},                                  // nothing there
		{"send", `{"to":["ann"],"count":1}`, 0},                             // no object to look into
		{"send", `{"/to/0/name":"ann","to":[{"name":"eve"}],"count":1}`, 0}, // a pointer is no name
		{"get", `{"url":"https://example.com/a//b"}`, 4},                    //
		{"get", `{"url":"https://example.com.evil.org/"}`, 0},               //
		{"get", `{"url":"https://example.com/../evil"}`, 0},                 // whatever that may be
		{"tag", `{"tags":["red","blue"],"loud":true}`, 5},                   // JSON
		{"tag", `{"tags":["red","blue"],"loud":"true"}`, 5},                 // a text of the same letters
		{"odd", `{"a/b":{"~c":"x"}}`, 6},                                    // escapes of a pointer
		{"x_any", `{}`, 7},                                                  //
		{"xx_any", `{}`, 0},                                                 //
		{"calculator", `{}`, 0},                                             //
	}
	for _, tt := range tests {
		args, _, err := callargs.Decode(json.RawMessage(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := p.match(Subject{Tool: tt.tool, OldName: tt.tool}, args); n != tt.rule {
			t.Errorf("%s(%s): rule %d, want %d", tt.tool, tt.args, n, tt.rule)
		}
	}
}

// An error names the invalid key and how to fix it.
func TestInvalidPolicies(t *testing.T) {
	tests := []struct {
		a         Policy
		key, told string
	}{
		{Policy{Default: "maybe"}, "default", `default is "maybe"`},
		{Policy{Default: Auto}, "default", "ask, allow, deny"},
		{Policy{Network: "yes"}, "network", "auto, ask, allow, deny"},
		{Policy{Timeout: -time.Second}, "timeout", "0 means 5m"},
		{Policy{Rules: []Rule{{Action: Allow}}}, "rule.0", "names no tool"},
		{Policy{Rules: []Rule{{Tool: "a"}}}, "rule.0", "no action"},
		{Policy{Rules: []Rule{{Tool: "a", Action: Deny}, {Tool: "a", Action: Auto}}}, "rule.1.action", "ask"},
		{Policy{Rules: []Rule{{Tool: "[a", Action: Deny}}}, "rule.0.tool", "not a pattern"},
		{Policy{Rules: []Rule{{Tool: "a", Action: Deny, Args: map[string]string{"b": "(", "a": "x"}}}}, "rule.0.args.b", "missing closing"},
		{Policy{Rules: []Rule{{Tool: "a", Action: Deny, Args: map[string]string{"/a~b": "x"}}}}, "rule.0.args./a~b", "JSON pointer"},
	}
	for _, tt := range tests {
		_, err := tt.a.Compile()
		if err == nil || !strings.HasPrefix(err.Error(), "approvals."+tt.key+": ") || !strings.Contains(err.Error(), tt.told) {
			t.Errorf("%+v: %v", tt.a, err)
		}
	}
}

// A rule that denies holds for every form of a name, one that allows for the very name, and
// for the old form if no other tool has the same. Of those one denial denies all.
func TestRulesAndForms(t *testing.T) {
	p, err := Policy{Rules: []Rule{
		{Tool: "s__getissue", Action: Allow},
		{Tool: "s__GET_*", Action: Deny},
		{Tool: "s__runall", Action: Allow},
		{Tool: "s__runAll", Action: Allow},
		{Tool: "s__run_it", Action: Allow},
		{Tool: "s__run-it", Action: Deny},
		{Tool: "s__RUNALL", Action: Deny},
	}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, old string
		rule      int
	}{
		{"s__getIssue", "s__getissue", 1},
		{"s__getIssue", "", 0},
		{"s__get-issue", "s__get_issue", 2},
		{"s__Get_issue", "", 2},
		{"s__runAll", "s__runall", 3},
		{"s__runAll", "", 7}, // another tool has the same old form, and that is denied
		{"s__runall", "", 7},
		{"s__run-it", "s__run_it", 5},
		{"s__run_it", "", 6},
	} {
		if n, _ := p.match(Subject{Tool: row.name, OldName: row.old}, nil); n != row.rule {
			t.Errorf("%+v: rule %d", row, n)
		}
	}
}
