// Package agent talks to a chat model: it teaches the model how to call tools,
// recognises the calls in what it writes, runs them through a Toolbox, fits the
// results into the model's window and asks again until there is an answer.
//
// It knows nothing about Wasm and can be used with any Toolbox and any Model.
//
//	          ┌──────────────────────────────────────────────┐
//	question ─► ask ─► parse ─► call ─► fit ─► ask … ─► answer
//	             │       │        │       │
//	     window.go  agent/parse  Toolbox  sdk/limit
//
// A turn is append-only: each request begins with the bytes of the one before,
// so that a provider's prompt cache holds. Results shrink in two places only:
// once in mid-turn when the window is nearly full, and when the turn ends.
//
// What a turn came to is stored as Messages in a neutral form. Requests are
// rendered from them, by prompt or for a provider's own tool calling.
//
// Only the model's own current output, or Config.Prefetch, starts a tool. What
// results, descriptions and loads say is data: it is neutralised where it could
// be read as a call, and never parsed.
//
// # Files
//
//   - loop: the states of a turn
//   - run, turn: what one turn holds
//   - setup: what is decided at its start
//   - config: the budgets
//   - reply: reads the model's stream
//   - call, callertools: runs calls, and those of a client's own tools
//   - fit: cuts a round's results
//   - window: what is sent, what is folded
//   - estimate: tokens
//   - loads: what is loaded back
//   - recall: loads unasked
//   - sources: the pages that an answer is taken from
//   - find: finds tools
//   - quoted: quotations
//   - plan: numbered steps, the check of a draft
//   - render: messages for a model
//   - checkpoint: how far a turn is
//   - clock: the time budget
//   - cost, price: tokens and money
//   - retry: reports a second try
//   - message, model, toolbox, event, tools: the types
package agent
