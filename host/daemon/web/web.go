// Package web holds the daemon's page: static files that send requests only to the
// daemon, and work under a policy that forbids inline scripts and styles and every HTML
// string. The files in dist are made from the sources in src; see docs/page.md.
package web

import (
	"embed"
	"io/fs"
)

//go:generate go run ./bundle

//go:embed dist
var dist embed.FS

// Files returns the page's files, index.html at the root.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is right or the program does not build
	}
	return files
}
