// Package toolmeta keeps what models have said about tools, for the search of tools:
// questions that each tool would answer, and vectors of its text. It asks in the background, once for each text
// of a tool, and keeps the answers by the digest of that text. What a model writes is
// only ever compared with the words of a question: no person's and no model's text
// contains it, except for the explanation of a search.
package toolmeta
