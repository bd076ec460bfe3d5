// Package archive stores whole tool results. A model sees a result cut to its
// limits; the archive holds all of it, and returns any part of it later.
//
// How the parts work together:
//
//   - Store is what the rest of weir uses; SQLite is the Store in a file (store.go).
//     Another database can be another Store.
//   - Put writes an Entry, and describes it for its placeholder: a summary, the
//     sources, the query (put.go, describe.go; package describe). Entries of a principal with the
//     same text share one row of result_texts.
//   - Get, Peek and Read return an Entry or a Part of its text (get.go, read.go,
//     part.go, pointer.go). List and Search find entries.
//   - Prune removes texts by age, size and number; Compact compresses old texts
//     (prune.go, compact.go).
//   - Package daemon/store has its tables in the same file. The methods that it
//     needs within its own transactions are in shared.go.
//
// What the archive promises:
//
//   - An entry that Put returned is synced to disk. Entries that are put at the same
//     time share one sync.
//   - A reader receives every text byte for byte, also after it was compressed.
//   - Every statement has the principal in its condition, and the conversation too
//     unless Config.UserScope widens it. The entry of another principal is reported
//     exactly like one that does not exist. Principals share no texts: neither time nor
//     size shows that another has the same one.
//   - A text that was pruned or deleted with its last entry is in none of the files
//     when the call returns, except that a reader may still use the log; the next
//     maintenance then truncates it. Blocks that a file system, a disk or a backup keeps are outside
//     of weir's control.
//
// The file has mode 0600 and is checked each time it is opened, which takes about
// half a second for each GiB. One process at a time should have it open.
//
// # Files
//
//   - store: the interface, the defaults
//   - put: writes
//   - get, read: read the whole, a part
//   - part: what a load selects
//   - pointer: a part of JSON
//   - search: by words
//   - vectors: by meaning
//   - list: lists
//   - describe: summaries
//   - entry: the type
//   - input: arguments of the call
//   - encoding, compact: compress at once, and later
//   - prune: deletes
//   - shared: copies, sizes, several processes
package archive
