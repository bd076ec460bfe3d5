// Package parse recognises tool calls in the text of a chat model, in every
// notation that models use, and separates them from prose, quotations and
// reasoning.
//
// One recogniser reads all formats. It looks for the names of the declared tools.
// It is a stream parser with these laws:
//
//   - The events do not depend on the chunks, once adjacent texts are joined.
//   - A Call is reported when it is complete and never withdrawn. Every call of a
//     truncated reply is also a call of the whole reply.
//   - Text that cannot begin a call is returned by the Feed that brings it.
//   - The time is linear in the text: every byte is scanned a bounded number of
//     times.
//
// # The structs
//
// A parser is a few structs, each with one owner of its fields:
//
//	input    input.go                   the text so far, and where the reading is
//	output   output.go                  the events; what has gone out, what is held
//	context  context.go, lone.go        what is around a place, and whether a call may be there
//	code     code.go                    code between backticks that is a quotation
//	thought  thought.go                 reasoning
//	groups   group.go, parts.go,        calls: a group of them, what is between two,
//	         names.go, item.go,         one of them (an item; its own notations in
//	         calls.go, tagged.go        tagged.go), its values matched with a tool
//	lines    lines.go, openings.go,     text, and what may begin in it: a marker, a
//	         fence.go, channel.go,      fence, a channel, a label
//	         react.go
//	parser   stream.go                  the loop over all of them
//
// Each uses only those above it. It reads their fields and calls their methods, and
// writes to none of their fields but pos and mode of the input, which belong to whoever
// reads (TestOneOwner). So text is scanned by lines up to the first byte at which
// something may begin; a thought and quoted code are passed on; everything else that may
// hold calls is a group: calls with only white space, punctuation and markers between
// them. When an item is complete, its values are read and matched with a tool.
//
// The packages below internal read without state: lex (bytes and names), marker
// (tags and special tokens), value (JSON and Python values, repaired), toolset
// (the declared tools, their schemas, and the calls that a value holds), lookahead
// (where a call without a marker may begin) and prose (the sentences around a call).
// Package correction tells a model what is wrong with its call.
//
// # To add a format
//
// Most formats need one file: internal/marker/formats.go. Add an entry there: openings,
// shape, an example. Tags, tokens and words in square brackets are read from it.
//
// Another opening needs a function in openings.go too: a method of lines that looks at
// the text, asks context.mayCall and ends with begin or beginMarked. It touches neither
// the output nor the context. A new shape needs an itemKind in item.go and, in tagged.go,
// a method of item that finds its end: it gets the input, and moves nothing but the item.
//
// A format of a name of its own is a Format in internal/marker/format.go and format.go.
// Then add rows to formats_test.go and run
// go test ./agent/parse -run 'TestFormatsPage|TestNeutralise' -update, which writes
// docs/formats.md and the marks of package limit. The laws and the corpora (make
// eval-parse) then hold for it too.
//
// # What runs
//
// A call with a marker of its own runs. A call without one runs if it begins the
// message, if a sentence introduces it (context.go), if nothing follows it, or if it is
// a fence and the only block of a reply that explains nothing (lone.go). An example, a
// signature and a list of tools do not run. Prose between two calls does
// not end the reading, but a result does: models invent results, and what they call
// after one is not what they would call after the real one. A call inside a thought
// does not run, unless the thought never closes and the reply ends with the model's
// special tokens of a complete call, or the thought began with an empty line.
//
// Structure is repaired: quotes, commas, brackets of a block that is closed.
// Content never is. General repairers of JSON were compared and not used: they
// complete unfinished strings, drop backslashes and read any text as a string.
// That is harmless in a document but not in a command that will run. They also do
// not read Python's notation.
package parse
