// Command bundle builds the page: it makes the files in dist from the sources in src.
// `go generate ./host/daemon/web` runs it. It is the one program that contains esbuild.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", ".", "the folder that has src and dist")
	with := flag.String("gallery", "", "a folder to write the page with its gallery to, and overlay.json that puts it in the place of dist; dist is left alone")
	flag.Parse()
	if err := run(*dir, *with); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run puts what build returns in the place of the files of dist, or of the folder for the
// page with its gallery.
func run(dir, with string) error {
	dist, start := filepath.Join(dir, "dist"), everybody
	if with != "" {
		start = gallery
	}
	files, err := build(dir, start)
	if err != nil {
		return err
	}
	if with != "" {
		if files["overlay.json"], err = overlay(dist, with, files); err != nil {
			return err
		}
		dist = with
	}
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dist, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// overlay returns what `go build -overlay` reads to take the files of with for those of dist.
func overlay(dist, with string, files map[string][]byte) ([]byte, error) {
	replace := map[string]string{}
	for name := range files {
		was, err := filepath.Abs(filepath.Join(dist, name))
		if err != nil {
			return nil, err
		}
		if replace[was], err = filepath.Abs(filepath.Join(with, name)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{"Replace": replace})
}
