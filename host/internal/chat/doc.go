// Package chat is the terminal front end of a conversation. It speaks to a daemon
// through package client, and has no model and no tools of its own.
//
// A Turn asks one question and shows the events of its answer; `weir ask` uses one.
// While a turn runs, an approver asks the person about the calls that need a
// permission. Run is `weir chat`: it reads questions with an input (a line editor
// with a history at a terminal, else plain lines), runs the commands that begin
// with a slash, and asks the rest, one Turn after another.
//
// TraceText and ExplainText describe how a question was answered; ShowArchive
// prints an archived result.
//
// # Files
//
//   - chat: the session
//   - commands, complete, history: what a person types
//   - keystream, lines, paste: keys
//   - turn, calls, approve: one question
//   - explain: --explain
//   - stats, trace, archive: these commands
//   - data: lists for completion
package chat
