// Package usage counts what each user uses of the daemon, and enforces quotas.
//
//   - A Meter counts requests, tokens and money of each principal, and rejects a
//     request when a Quota is exhausted (meter.go, quota.go).
//   - A Model is a chat model whose replies a Meter counts (model.go).
//   - SideUsage sums what a turn uses beside its own model: summaries and embeddings
//     (side.go).
//   - A CallLog writes the tool calls that belong to no turn, many at a time
//     (calllog.go).
//
// Counts are kept in memory and written to the store within a second, because each
// write is synced to disk. The counts of deleted conversations stay.
package usage
