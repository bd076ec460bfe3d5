// Package host runs tools for language models: plugins in sandboxes, found in folders,
// with permissions, limits on what is shown of a result, and an archive of the whole
// result. It does not need the agent.
//
//	h, err := host.Open(ctx, host.Config{Settings: host.Settings{Folders: []plugin.Folder{{Path: "plugins"}}}})
//	s := h.Session("me", "conversation-1")
//	res, err := s.Call(ctx, tool.Call{Tool: "calculator", Args: json.RawMessage(`{"expression":"6*7"}`)})
//
// A tool that can change something needs the approval of a person, whom an
// [approval.Approver] asks. Without an Approver it does not run, unless
// Settings.Approvals allow it.
//
// A manifest asks for permissions and declares limits; the Settings grant and replace
// them. The whole result is in the archive before a part of it is shown, and the
// built-in tool load_tool_history reads any part of it.
//
// A Host has one current snapshot: the plugins and their tools. Reload and Apply build
// the next snapshot and replace it in one step; running calls finish with theirs.
// call.go shows the way of one call.
//
// # Files
//
//   - host: opens and closes
//   - config: what it is made from
//   - settings: what can change
//   - reload: replaces the snapshot, diff says what changed
//   - plugins: decisions about plugins, compiling them
//   - session: who calls
//   - call: the pipeline
//   - refs, authorize, record: its steps
//   - ingest: results of other programs
//   - recall: results by their meaning
//   - find: the search of tools
//   - waiting: why a tool is missing
package host
