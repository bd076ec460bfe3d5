// Package find finds the lines of a text that match expressions, without running
// an expression on a line that cannot match.
package find
