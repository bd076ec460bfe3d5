// Package memsnap gives guests linear memories that can be put back to how they
// were: the state after a module's start is kept once as an image, every
// instance of the module maps it copy-on-write, and after a call only the pages
// that the call has written are copied back. That costs microseconds where a new
// instance costs milliseconds.
//
// # How it works
//
// Reserve takes address space up to the memory's limit, of which nothing is
// accessible yet; growing makes more of it accessible and never moves it. Freeze
// writes what the memory holds into a file that lives in memory only (memfd),
// zero pages left out as holes, seals it, and maps it privately over the memory.
// Adopt maps the same file over the memory of another instance; the pages that
// neither writes are shared by all. Renew finds the pages of a memory that are
// its own, which are those that were written, and copies the image over them.
// They stay in place, so that the next call, which mostly writes the same ones,
// takes no page fault. Beyond 512 such pages it drops them all at once and
// lets the next call fault in what it needs. What lies behind the image is
// cleared in the same way.
//
// # Finding the written pages
//
// The kernel tells them in one of two ways, both through /proc/self/pagemap: the
// PAGEMAP_SCAN request (Linux 6.7 and later) or the table itself. A page counts
// as written when it is present, or swapped out, and does not belong to the
// image's file. That holds for pages that were merged with others, with the
// kernel's page of zeros too, and for huge pages of the file: what is not surely
// the image's is copied. Open does not go by versions: it tries each way on a
// memory of its own, and takes the first one that finds what was written and
// restores it. Without either every renewal drops all pages.
//
// Where a goroutine attends to the memory during a call, without leaving its
// thread, no search is needed if that thread took no page fault: then the pages
// that are the memory's own are the same as before. Most calls of a tool write the
// pages that the one before has written. Open tries that out as well.
//
// # Who owns what
//
// An engine is handed a Memory and may call Reallocate and Free, and nothing
// else. Free unmaps nothing, for a module that was closed runs on until its next
// check. Whoever called Reserve calls Release when no call is in flight any more
// and none will come. An image is closed by who froze it; its file and its
// mapping last until the last memory that adopted it is released.
package memsnap
