//go:build !unix

package jail

import "io/fs"

// nonblock is nothing where folders hold no pipes.
const nonblock = 0

// severalNames reports whether a file may have more than one name: here it is not known.
func severalNames(fs.FileInfo) bool { return true }
