// Package web holds the daemon's page: static files, without a build step,
// that send requests only to the daemon. They work under a policy that
// forbids inline scripts and styles.
package web

import (
	"embed"
	"io/fs"
)

//go:embed page
var page embed.FS

// Files returns the page's files, index.html at the root.
func Files() fs.FS {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the name is right or the program does not build
	}
	return files
}
