// Package archive keeps whole tool results, and the conversations they belong
// to, in one SQLite file: committed before anything is shown cut, readable by
// part, pruned by age and size.
//
// What is promised:
//
//   - What Put, Begin, Finish, Append, Replace and LogUse acknowledged is synced
//     to disk: the log is written ahead with synchronous=FULL. What comes at the
//     same time shares one sync.
//   - A reader gets every text back byte for byte, compressed in between or not.
//   - Every statement has the principal in its condition, and the conversation
//     too unless Config.UserScope widens it. What is another's answers exactly
//     like what does not exist.
//   - What was pruned, or deleted with its conversation, is in none of the files
//     when the call returns: freed pages are overwritten (secure_delete) and given
//     back (incremental vacuum), and the log is cut to nothing. When a reader
//     holds the log, the next maintenance cuts it. What a file system, a disk or
//     a backup keeps of freed blocks is beyond this package.
//
// The file is private to the user (mode 0600) and is checked each time it is
// opened, which takes about half a second for each GiB. One process at a time
// should have it open; a second one waits for locks of the first for five
// seconds at most.
package archive
