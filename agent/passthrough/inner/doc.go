// Package inner is what weir puts between a client that runs the loop itself and the model:
// placeholders for long results of earlier turns, and rounds of tools that weir runs by itself
// beside the client's.
//
// The client sends its whole history with each request and knows of none of this. A History
// reads it (history.go), Apply puts in what was decided about it before, so that the model's
// server gets the same bytes each time (apply.go). What is decided is a note, a string that the
// caller stores under a digest of the client's messages up to that place: of a long result
// (result.go), of the rounds in front of an answer (round.go). Offer adds weir's tools to the
// client's (offer.go), a Reply splits the model's answer into what the client gets and the
// calls that weir runs (split.go, reply.go, whole.go), Own finds a placeholder that the model copied
// (own.go).
//
// The package is pure: it knows no HTTP, no storage, no users and no clock.
package inner
