// Package memsnap provides linear memories that can be restored to a snapshot. An
// image holds the memory after a module's start. Every instance of the module maps
// it copy-on-write. After a call only the pages that the call wrote are copied
// back. That costs microseconds; a new instance costs milliseconds.
//
// # How it works
//
// Reserve reserves address space up to the memory's limit; none of it is accessible
// yet. Growing makes more of it accessible and never moves it. Freeze writes the
// memory's content into a file in memory (memfd) with holes for zero pages, seals
// it, and maps it privately over the memory. Adopt maps the same file over the
// memory of another instance; all instances share the pages that none has written.
// Renew finds the memory's own pages, which are the written ones, and copies the
// image over them. These pages stay allocated: the next call mostly writes the same
// ones and then takes no page fault. If there are more than 512 of them, Renew drops
// all at once, and the next call faults in what it needs. Renew clears the memory
// after the end of the image in the same way.
//
// # Finding the written pages
//
// The kernel reports them in one of two ways, both through /proc/self/pagemap: the
// PAGEMAP_SCAN request (Linux 6.7 and later) or the table itself. A page counts as
// written if it is present or swapped out and does not belong to the image's file.
// This includes pages merged with others, the kernel's zero page, and huge pages of
// the file: a page that might not be the image's is copied. Open does not compare
// kernel versions. It tries each way on a memory of its own and uses the first one
// that finds the written pages and restores them. If neither works, every renewal
// drops all pages.
//
// With Attend no search is needed if the calling thread took no page fault: the
// memory's own pages are then the same as before. Most calls of a tool write the
// pages that the previous call wrote. Open tests this way, too.
//
// # Ownership
//
// An engine gets a Memory and may call only Reallocate and Free. Free unmaps
// nothing, because a closed module runs until its next check. The caller of Reserve
// calls Release when no call is running and none will come. The caller of Freeze
// closes the image; its file and mapping exist until the last memory that adopted
// it is released.
package memsnap
