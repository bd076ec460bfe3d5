package grant

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// paths returns the row of folders. A folder is granted when the operator names the
// same guest path. It is writable only if both the ask and the grant say so.
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
				asks.Paths = append(asks.Paths, registry.PathAsk{Guest: p.Guest, Write: p.Mode == "rw", Reason: impliedReason})
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
	r.Permissions.Mounts = append(r.Permissions.Mounts, jail.Mount{Guest: a.Guest, Host: dir, Write: a.Write && p.Mode == "rw"})
	return true
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
