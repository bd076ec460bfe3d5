// Package eval puts twenty questions with known calls to a model, in each mode in which it
// can call tools, and counts how many it got right. What comes in is a model; what goes out
// is a Report, with the mode to set. The tools of the questions are in this package: they
// have fixed answers, and reach nothing. Begin with eval.go; questions.go has the questions,
// tools.go their tools, judge.go what is right.
package eval
