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
// They are read from the kernel's table, /proc/self/pagemap, which every user may read. A
// page counts as written if it is present or swapped out and does not belong to the
// image's file. This includes pages merged with others, the kernel's zero page, and huge
// pages of the file: a page that might not be the image's is copied. Open does not compare
// kernel versions: it tries the search on a memory of its own. Where it does not find what
// was written, Open fails, and every call gets a new instance.
//
// # Ownership
//
// An engine gets a Memory and may call only Reallocate and Free. Free unmaps
// nothing, because a closed module runs until its next check. The caller of Reserve
// calls Release when no call is running and none will come. The caller of Freeze
// closes the image; its file and mapping exist until the last memory that adopted
// it is released.
package memsnap
