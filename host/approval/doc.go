// Package approval decides whether a call of a tool may run. A Policy is what the
// operator configures: rules for certain tools and arguments, and defaults by what
// a tool can do. A Gate applies the compiled Policy to one session's calls: it
// allows, denies, or asks a person through an Approver. A Memory remembers answers
// that hold for more than one call. The package does not know the host: a Subject
// describes the tool, an Exposure the conversation.
//
// # Files
//
//   - gate: the decision
//   - policy: the rules
//   - argument: a rule's arguments
//   - memory: what a person has answered for good
//   - request: what a person is asked
//   - texts: its words
package approval
