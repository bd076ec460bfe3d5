package setup

import (
	"context"
	"testing"

	"github.com/weirhost/weir/agent"

	"github.com/weirhost/weir/host/internal/toolname"
)

// The profile's word comes before the operator's about the model, and that before what a
// try has shown, which is not asked for then and is no setting.
func TestMode(t *testing.T) {
	shows := func(works, known bool) func(context.Context) (bool, bool) {
		return func(context.Context) (bool, bool) { return works, known }
	}
	asked := func(context.Context) (bool, bool) {
		t.Error("a model whose mode is set was asked")
		return false, false
	}
	for _, row := range []struct {
		model  Model
		prof   agent.Mode
		mode   agent.Mode
		native *bool
	}{
		{Model{NativeTools: new(false), Native: asked}, agent.ModeNative, agent.ModeNative, nil},
		{Model{NativeTools: new(true), Native: asked}, agent.ModePrompt, agent.ModePrompt, nil},
		{Model{NativeTools: new(true), Native: asked}, "", agent.ModeNative, nil},
		{Model{NativeTools: new(false), Native: asked}, agent.ModeAuto, agent.ModePrompt, nil},
		{Model{Native: shows(true, true)}, agent.ModeAuto, agent.ModeAuto, new(true)},
		{Model{Native: shows(false, true)}, "", "", new(false)},
		{Model{Native: shows(true, false)}, "", "", nil},
		{Model{}, "", "", nil},
	} {
		prof := agent.Defaults()
		prof.Mode = row.prof
		mode, native := row.model.Mode(t.Context(), prof)
		if mode != row.mode || (native == nil) != (row.native == nil) || native != nil && *native != *row.native {
			t.Errorf("%+v with %q: %q, %v", row.model, row.prof, mode, native)
		}
	}
}

// A user's lists hold for each form of a tool's name: what is denied for all of one old form,
// what is allowed for a tool that alone has it.
func TestFormsOfNames(t *testing.T) {
	u := User{Tools: []string{"s__getissue", "s__drop", "s__a-b"}, Deny: []string{"s__LIST"}, names: func(name string) toolname.Names {
		return toolname.Names{Name: name, Alone: map[string]string{"s__getIssue": "s__getissue", "s__List": "s__list"}[name]}
	}}
	for name, sees := range map[string]bool{"s__getIssue": true, "s__Drop": false, "s__drop": true, "s__a-b": true, "s__a_b": false, "s__List": false, "s__list": false} {
		if u.Sees(name) != sees {
			t.Errorf("%s: %v", name, !sees)
		}
	}
	if u.Tools = nil; u.Sees("s__List") || !u.Sees("s__other") {
		t.Error("a denial holds without a list of allowed tools")
	}
}
