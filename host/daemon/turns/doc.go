// Package turns runs one turn of a conversation: a question, the requests to the model
// and the calls of tools that it takes, and the answer.
package turns
