// Package chatform reads requests and writes answers in the form of OpenAI's chat completions,
// for the clients of servers that speak another protocol.
//
// Read takes the body that a client sent apart: it refuses what no protocol but OpenAI's has a
// place for, and keeps everything else, also what it does not know. Notes collects what could
// not be handed on as it was sent. A Writer writes the answer, as chunks or whole. Object
// writes JSON in which what the client sent stays as it is. The package knows no server: the
// packages of the protocols decide what becomes of each part. Begin with read.go.
package chatform
