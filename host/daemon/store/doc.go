// Package store holds what the daemon remembers: conversations with their messages,
// the log of their tool calls, a trace and the token usage of each turn, and the usage
// of each user for quotas.
//
// Its tables are in the same file as the archive of results, and share its queue of
// writes. So a turn is stored with one sync, and a conversation is deleted together
// with its results in one transaction. Package archive owns the table of results; this
// package deletes from it through archive's methods, and reads uuid and load_count for
// the statistics.
//
// What the store promises:
//
//   - What Begin, Finish, Append, Replace and LogCalls acknowledged is synced to disk.
//   - Every statement has the principal in its condition, except Stats, and Calls of
//     the zero Scope, which are for operators. A conversation of another principal is
//     reported exactly like one that does not exist.
//   - Nothing of a deleted conversation is left in the file or its log. The usage for
//     quotas stays.
//
// # Files
//
//   - store: opens
//   - conversation, message, turn, search, export, purge, fingerprint: conversations
//   - passed, forget, notes, folds: conversations of clients with a loop of their own
//   - calls, stats, totals, usage: what was used
//   - trace: traces
//   - runs: turns under way
//   - approvals, answers: of a person
//   - sessions, clienttokens: browsers, tokens of client programs
//   - mcpsessions, mcpmail: MCP clients of several daemons
//   - shared: whether several daemons may use it
package store
