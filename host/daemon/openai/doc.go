// Package openai speaks OpenAI's chat completion protocol over the daemon's turns.
//
// request.go decodes a request and its options, messages.go splits its messages into a
// history and the question at the end, and completion.go writes the answer, whole or as
// a stream. The protocol has no conversations: a request names a stored one, or the
// conversation with the same messages continues, or a new one begins.
//
// # Files
//
//   - request, messages: what comes in
//   - completion: what goes out
//   - server: the routes
//   - problem: errors
package openai
