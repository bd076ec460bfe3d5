// Package modindex remembers what was found out about the files of modules, so
// that a start reads none of them.
//
// A file is known by its path, size, inode and times. Of these no program sets
// the time of the last change, so that a file which was written to is not known
// any more, whatever became of its other time. A system that does not tell that
// time gives nothing to know a file by, and every file is read there.
//
// It remembers refused modules too, but only in memory: the next version of the
// program may take them.
//
// Of manifests, which are read at each start, it remembers those with which
// nothing was wrong, by their bytes, so that the schemas and examples in them are
// not judged again.
//
// What the index says is a guess all the same: a clock may have been set back,
// or somebody else may have written the index. So it says which plugins there
// are, and never what runs: whoever loads a module holds its bytes to the
// digest, and calls Forget when they are others.
package modindex
