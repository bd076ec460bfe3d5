package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A policy that allows writing below one folder, denies the rest of it, and asks
// about everything else that can change something.
func ExamplePolicy() {
	policy := approval.Policy{Rules: []approval.Rule{
		{Tool: "write_*", Args: map[string]string{"path": "^/workspace/tmp/"}, Action: approval.Allow},
		{Tool: "write_*", Args: map[string]string{"path": "^/workspace/"}, Action: approval.Deny},
	}}
	_, err := policy.Compile()
	fmt.Println(err)

	policy.Rules[1].Action = "never"
	_, err = policy.Compile()
	fmt.Println(err)
	// Output:
	// <nil>
	// approvals.rule.1.action: action is "never" (use one of: allow, ask, deny)
}

// Validate lists every problem, each with its fix and key.
func ExamplePolicy_Validate() {
	policy := approval.Policy{Default: approval.Auto, Timeout: -time.Second}
	policy.Validate(func(problem, fix tool.Text, key ...string) {
		fmt.Printf("%s: %s; %s\n", strings.Join(key, "."), problem, fix)
	})
	// Output:
	// default: default is "auto"; use one of: ask, allow, deny
	// timeout: timeout is -1s; 0 means 5m
}

// person is an Approver that allows every call.
type person struct{}

func (person) Approve(_ context.Context, r approval.Request) (approval.Answer, error) {
	fmt.Println(r.Tool+":", r.Why)
	return approval.Answer{Verdict: approval.Always, By: "ann"}, nil
}

// The person is asked once about similar calls, if the answer is Always.
func ExampleGate_Authorize() {
	rules, _ := approval.Policy{}.Compile() // the zero policy is valid
	gate := approval.Gate{
		Rules: rules, Memory: &approval.Memory{}, Approver: person{},
		Principal: "me", Conversation: "c1", Now: time.Now, Log: hclog.NewNullLogger(),
	}
	write := approval.Subject{Tool: "write_note", Plugin: "notes", Effect: plugin.EffectChanges, WritableFolders: []string{"/notes"}}
	for range 2 {
		a, err := gate.Authorize(context.Background(), write, approval.Call{Input: json.RawMessage(`{"path":"/notes/a.md"}`)})
		fmt.Println(a.Allowed, a.By, err == nil)
	}

	gate.Conversation, gate.Approver = "c2", nil
	_, err := gate.Authorize(context.Background(), write, approval.Call{})
	fmt.Println(err.Msg)
	// Output:
	// write_note: it can change files in /notes
	// true person ann true
	// true always true
	// write_note did not run: it can change files in /notes, and no person is available to ask
}

// MayAsk tells a client in advance which tools can need an approval.
func ExampleRules_MayAsk() {
	rules, _ := approval.Policy{Default: approval.Allow, Rules: []approval.Rule{{Tool: "delete_*", Action: approval.Ask}}}.Compile()
	for _, name := range []string{"read_file", "write_note", "delete_note"} {
		fmt.Println(name, rules.MayAsk(approval.Subject{Tool: name, Effect: plugin.EffectChanges}))
	}
	// Output:
	// read_file false
	// write_note false
	// delete_note true
}
