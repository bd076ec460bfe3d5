// Package parse recognises tool calls in the text of a chat model, whatever
// way the model writes them, and tells them from prose, quotation and thought.
//
// There is one recogniser for all formats, keyed on the names of the declared
// tools. It is a stream parser with these laws:
//
//   - The events are the same for every chunking, once adjacent texts are joined.
//   - A Call is given out when it is complete and never taken back. What a
//     truncated reply calls, the whole reply calls too.
//   - Text that cannot begin a call is given out in the Feed that brings it.
//   - The time is linear in the text: every byte is scanned a bounded number of
//     times, however the text is made.
//
// A reply is scanned in layers. Text (text.go, open.go) runs line by line and
// stops where something may begin: a marker (token.go), a fence, a bracket or a
// name (probe.go). Thoughts (thought.go) are passed on as Reasoning. Everything
// else that may hold calls is a group (group.go, word.go): calls with nothing
// but white space, punctuation and markers between them. Each call in it is an
// item (item.go, tagged.go, react.go), whose end a scanner finds (scan.go), whose
// values are read (value.go, strings.go) and made a call of (call.go, args.go,
// take.go).
//
// A call behind a marker of its own runs. A call without one runs where it
// begins the message or is introduced as one (context.go), or where nothing
// follows it; an example, a signature or a list of tools does not. Nothing
// behind the first group runs, because models write down results of their own
// invention there.
//
// Structure is mended: quotes, commas, brackets of a block that is closed.
// Content never is. The general repairers of JSON were compared and not taken:
// they finish unfinished strings, drop backslashes and read any text as a
// string, which is harmless in a document and not in a command that will run;
// and they do not read Python's notation.
package parse
