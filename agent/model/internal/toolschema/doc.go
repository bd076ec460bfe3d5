// Package toolschema makes the descriptions of tools fit for the rules of a provider.
//
// A provider refuses a whole request for one schema that breaks a rule of its own, and
// tools come from servers that know none of these rules. Declare takes the tools of a
// request and returns what the provider is given: valid arguments of a tool stay
// expressible, what only narrows them may be left out, because the tool's own schema
// checks the arguments of each call. Names that a provider does not take are replaced,
// and put back in its calls.
//
// The functions are pure: equal tools are declared by equal bytes, which providers cache.
// A schema may come from a stranger, so work and result are bounded. rules.go has what
// each provider takes; read.go reads a schema into a node without references, union.go
// settles its alternatives, and write.go writes it by the rules.
package toolschema
