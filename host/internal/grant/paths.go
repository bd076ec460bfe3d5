package grant

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// paths returns the row of folders. A folder is granted when the operator names the
// same guest path. It is writable only if both the ask and the grant say so, and never
// if it contains something Reserved.
func paths() power {
	return row[registry.PathAsk]{
		Key:      "paths",
		Ask:      func(a registry.Asks) []registry.PathAsk { return a.Paths },
		Granted:  pathGranted,
		Describe: describePath,
		Exceeds: func(a registry.PathAsk, before []registry.PathAsk, g plugin.Grant) bool {
			return !slices.ContainsFunc(before, func(b registry.PathAsk) bool { return b.Guest == a.Guest && (b.Write || !a.Write) }) &&
				!slices.ContainsFunc(g.Paths, func(p plugin.PathGrant) bool { return p.Guest == a.Guest && (p.Mode == "rw" || !a.Write) })
		},
		Implied: func(g plugin.Grant, asks *registry.Asks) {
			for _, p := range g.Paths {
				asks.Paths = append(asks.Paths, registry.PathAsk{Guest: p.Guest, Write: p.Mode == "rw", Reason: impliedReason()})
			}
		},
	}
}

func describePath(a registry.PathAsk) Description {
	access := "read only"
	if a.Write {
		access = "read and write"
	}
	return Description{
		Kind: "path", What: a.Guest + " (" + pathMode(a) + ")", Sentence: tool.Textf("the folder %s (%s)", a.Guest, pathMode(a)),
		Name: "folder " + a.Guest, Value: access, Reason: a.Reason,
	}
}

func pathMode(a registry.PathAsk) string {
	if a.Write {
		return "rw"
	}
	return "ro"
}

func pathGranted(r *Resolution, asks []registry.PathAsk, i int, g plugin.Grant) bool {
	a := asks[i]
	at := slices.IndexFunc(g.Paths, func(p plugin.PathGrant) bool { return p.Guest == a.Guest })
	if at < 0 {
		r.missAsk(describePath(a), "paths", fmt.Sprintf("{ guest = %q, host = \"a folder of yours\", mode = %q }", a.Guest, pathMode(a)))
		return false
	}
	p := g.Paths[at]
	dir, problem := folder(p.Host)
	if !problem.IsZero() {
		r.miss(tool.Textf("the folder granted as %s, %q, %s", a.Guest, p.Host, problem))
		r.advise(tool.Textf("make the folder, or grant another one"))
		return false
	}
	if link := r.placed(dir); link != "" {
		r.miss(tool.Textf("the folder granted as %s, %q, leads over the link %q, which lies in a folder that is granted for writing: a tool may have put it there", a.Guest, p.Host, link))
		r.advise(tool.Textf("grant the folder itself, by its path without the link"))
		return false
	}
	if dir, problem = real(dir); !problem.IsZero() {
		r.miss(tool.Textf("the folder granted as %s, %q, %s", a.Guest, p.Host, problem))
		return false
	}
	write := a.Write && p.Mode == "rw"
	if own := contained(dir, jail.Everywhere(r.resolver.Reserved)); write && own != "" {
		r.miss(tool.Textf("the folder granted for writing as %s, %q, contains %q, which decides what plugins may do", a.Guest, p.Host, own))
		r.advise(tool.Textf("grant a folder that contains none of weir's own files, or grant this one with mode = \"ro\""))
		return false
	}
	r.Permissions.Mounts = append(r.Permissions.Mounts, jail.Mount{Guest: a.Guest, Host: dir, Write: write})
	return true
}

// placed returns the first link on the way to a folder that a tool could have put there,
// because it lies in a folder that is granted for writing; empty: there is none.
func (r *Resolution) placed(dir string) string {
	var writable []os.FileInfo
	for _, g := range r.resolver.Grants {
		for _, p := range g.Paths {
			if st, err := os.Stat(p.Host); err == nil && p.Mode == "rw" {
				writable = append(writable, st)
			}
		}
	}
	for _, link := range links(dir) {
		if slices.ContainsFunc(writable, func(st os.FileInfo) bool { return above(st, withoutLinks(filepath.Dir(link))) }) {
			return link
		}
	}
	return ""
}

// links returns the links that an absolute path leads over, those within links too.
func links(path string) (out []string) {
	const most = 100 // the system follows 40
	for at := string(filepath.Separator); len(out) < most; {
		rest, err := filepath.Rel(at, path)
		if err != nil || rest == "." {
			return out
		}
		first, _, _ := strings.Cut(rest, string(filepath.Separator))
		at = filepath.Join(at, first)
		target, err := os.Readlink(at)
		if err != nil {
			continue // no link
		}
		out = append(out, at)
		if !filepath.IsAbs(target) {
			target = filepath.Join(withoutLinks(filepath.Dir(at)), target)
		}
		path = filepath.Join(target, strings.TrimPrefix(path, at))
		at = string(filepath.Separator)
	}
	return out
}

// real returns a folder's path without links.
func real(dir string) (string, tool.Text) {
	out, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", tool.Textf("cannot be read")
	}
	return out, tool.Text{}
}

// contained returns the first path that is the folder or inside it; empty: none is.
// It compares folders by identity, along the path as it is written and along the one
// without links: who can exchange a link on the way can exchange what it leads to.
func contained(folder string, paths []string) string {
	st, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	for _, path := range paths {
		if above(st, path) || above(st, withoutLinks(path)) {
			return path
		}
	}
	return ""
}

// above reports whether a path, or a folder on its way from the root, is the folder st.
func above(st os.FileInfo, path string) bool {
	for {
		if at, err := os.Stat(path); err == nil && os.SameFile(at, st) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// withoutLinks returns a path with the links resolved of that part of it which exists.
func withoutLinks(path string) string {
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(path)
		if up == path {
			return filepath.Join(path, rest)
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}

// folder returns a folder's absolute path, or what is wrong with it.
func folder(path string) (string, tool.Text) {
	st, err := os.Stat(path)
	switch {
	case err != nil && os.IsNotExist(err):
		return "", tool.Textf("does not exist")
	case err != nil:
		return "", tool.Textf("cannot be read")
	case !st.IsDir():
		return "", tool.Textf("is not a folder")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", tool.Textf("cannot be read")
	}
	return abs, tool.Text{}
}
