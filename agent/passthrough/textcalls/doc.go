// Package textcalls serves clients that run the loop themselves with models that have no
// tool calling of their own: New wraps the passthrough.Model of such a model. What goes to
// it has calls and results as text, and what comes from it has calls as tool_calls. It
// knows no HTTP, no users and no protocol but OpenAI's chat completions.
//
// # What is sent
//
// A request without tools, and without calls or results in its messages, is passed on
// byte for byte, and so is its answer. Of any other
//
//   - tools, tool_choice and parallel_tool_calls are taken out. Every tool is described
//     whole, behind the client's own system prompt: that stays as it is, and one text is
//     added to it, or a system message in front if the client sent none. If the window is
//     known and has no room for both, the answer is a ModelError of the code ModelWindow.
//   - the calls of an assistant message are written behind its text, as the description
//     teaches them. Arguments are as the client sent them, malformed ones too.
//   - results that follow one another become one user message. Their texts pass the encoder
//     of the agent's own loop, so that none reads as a call, a role or the end of its result;
//     placeholders and notices stay, since weir folds results of such clients; pictures and other parts stay parts, in their place. A user
//     message right behind is joined to it, since templates of such models often demand that
//     roles alternate.
//   - all else stays: other messages, to the byte, and every other member and its place.
//
// What a message becomes depends on it and those before it alone (but for results that more
// results or a user's message follow), and the description on the tools and
// parallel_tool_calls alone. So each request of a conversation begins with the
// bytes of the one before, and a provider's cache holds. That is why tool_choice changes
// nothing of the description: "none", "required" and a named tool are a sentence at the end
// of the last message.
//
// # What comes back
//
// Package parse reads the text; its laws hold, and one more: a call in a fence that may hold
// anything (```json) waits for the end of the reply, and is an example, and text, if words
// follow it. Text that cannot begin a call is passed on as
// it comes. A call comes in one piece when it is complete, since parse never withdraws one.
// Its id is the model's own, or the next of call_001, call_002, … that no message has. The
// guard against quotations of the agent's loop is off: the client's tools are the client's
// to approve. A text behind calls that says what comes next is content; any other may be a
// result that the model invented, and is reasoning_content. A stream is left where that is
// certain, with an estimated usage, so that nobody waits for what the model makes up.
//
// With tool_choice "none" every call stays text. With a named tool, or
// allowed_tools, all others are unknown.
// With parallel_tool_calls false further calls of a reply are left out, as servers do.
// A reply that ends for its length makes no unfinished call: what there is of it is text.
//
// # The hidden round
//
// A call of an unknown tool, or one that cannot be read, is not text at once: the model is
// asked again, once, with its own reply and the correction (package correction). The client
// sees one answer. What was in front of the bad call was delivered already and stays; the
// bad call and what followed it are held back until the reply ends, and are replaced by the
// second reply, which goes on behind an empty line. If the second reply begins by repeating
// what was delivered, that is left out. A bad call in the second reply is text. If the
// second request fails before anything of it came, or brings nothing, the first reply is
// delivered as it was, its bad call as text. The usage is that of both.
//
// There is no hidden round
//
//   - once a call was delivered: a second reply could make it again. The bad call is text.
//   - for a call in the middle of a sentence (parse.ReasonInText): that is text by law.
//   - for a reply that was cut, or with several choices.
//
// A reply without a call where tool_choice demands one has a hidden round too; if there is
// no call in that one either, the text is the answer.
package textcalls
