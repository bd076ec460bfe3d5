// Package host runs tools for language models: sandboxed plugins found in
// folders, with what each may do, how much of its result is shown and where
// the whole of it is kept. It can be used without the agent.
//
//	h, err := host.Open(ctx, host.Config{Folders: []host.Folder{{Path: "plugins"}}})
//	s := h.Session("me", "conversation-1")
//	res, err := s.Call(ctx, tool.Call{Tool: "calculator", Args: json.RawMessage(`{"expression":"6*7"}`)})
//
// A tool that is granted more than to answer waits for a person, whom an
// [Approver] asks; without one it does not run, unless [Approvals] say so.
//
// A manifest asks and declares; the Config grants and limits. A result that is
// shown cut is committed to the archive before, and the built-in tool
// load_tool_history brings any part of it back.
package host
