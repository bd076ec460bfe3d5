package main

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"math"
	"path"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultDepth = 3
	defaultFiles = 500
	highestDepth = 20
	highestFiles = 5000
	maxEntries   = 50000 // entries counted; after them the totals are lower bounds
)

type args struct {
	Path     string `json:"path"`      // empty: the workspace
	MaxDepth int    `json:"max_depth"` // 0: all, those of the operator, else 3, first
	MaxFiles int    `json:"max_files"` // 0: all, those of the operator, else 500, first
}

// structure draws what lies in a folder as a tree: what the call asks for, or else as
// many levels and files as the operator wants a model to read first, the upper levels
// before the deeper ones. In the second case the others follow, folder by folder.
func structure(c *guest.Call, in args) (guest.Result, error) {
	if in.MaxDepth < 0 || in.MaxDepth > highestDepth || in.MaxFiles < 0 || in.MaxFiles > highestFiles {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Leave them out for the usual numbers.",
			"\"max_depth\" must be 1 to %d and \"max_files\" 1 to %d.", highestDepth, highestFiles).
			Zh("省略即用常用值。", "\"max_depth\" 须为 1 到 %d，\"max_files\" 须为 1 到 %d。")
	}
	depth, most := set(c, "max_depth", in.MaxDepth, defaultDepth, highestDepth), set(c, "max_files", in.MaxFiles, defaultFiles, highestFiles)
	tree := files.In(c, files.Workspace)
	name, err := tree.Dir(in.Path)
	if err != nil {
		return guest.Result{}, err
	}
	root, partial, err := gather(tree, name)
	if err != nil {
		return guest.Result{}, err
	}
	drawn := root.choose(depth, most)
	d := drawing{call: c, depth: depth}
	d.content(root)
	listed := drawn + d.others(root, name, cmp.Or(in.MaxDepth, math.MaxInt), cmp.Or(in.MaxFiles, math.MaxInt)-drawn)
	if listed > drawn {
		d.Show = max(drawn, 1)
	}
	d.headline(root, name, partial, drawn, listed)
	r := d.Result()
	if listed < root.files {
		r.More = more(root, listed, depth, most)
	}
	return r, nil
}

// set returns a number of the call, else the operator's within its bounds, else usual.
func set(c *guest.Call, key string, given, usual, most int) int {
	if given > 0 {
		return given
	}
	return min(max(c.ConfigInt(key, usual), 1), most)
}

// more names the argument that holds the rest back.
func more(root *folder, shown, depth, most int) *tool.More {
	m := &tool.More{Shown: shown, Total: root.files}
	change := map[string]int{"max_depth": min(depth+2, highestDepth)}
	if shown >= most {
		change = map[string]int{"max_files": min(most*4, highestFiles)}
	}
	m.Args, _ = json.Marshal(change)
	return m
}

// folder is one folder with all that lies under it.
type folder struct {
	name    string
	path    string // below the start folder
	depth   int    // 0 for the start folder
	skipped bool
	subs    []*folder
	own     []file
	shown   int // of own, from the front
	files   int // all files under it
	bytes   int64
}

type file struct {
	name string
	size int64
}

// gather walks the tree; partial says that it stopped at maxEntries.
func gather(tree files.Tree, start string) (root *folder, partial bool, err error) {
	root = &folder{name: path.Base(start)}
	at := map[string]*folder{start: root}
	seen := 0
	err = tree.Walk(start, func(e files.Entry) error {
		if seen++; seen > maxEntries {
			partial = true
			return fs.SkipAll
		}
		parent := at[path.Dir(e.Name)]
		if e.IsDir() {
			sub := &folder{name: e.DirEntry.Name(), path: path.Join(parent.path, e.DirEntry.Name()), depth: e.Depth, skipped: files.Skipped(e.DirEntry.Name())}
			at[e.Name] = sub
			parent.subs = append(parent.subs, sub)
			return nil
		}
		f := file{name: e.DirEntry.Name()}
		if info, err := e.Info(); err == nil {
			f.size = info.Size()
		}
		parent.own = append(parent.own, f)
		return nil
	})
	root.sum()
	return root, partial, err
}

// sum fills in the totals of every folder.
func (f *folder) sum() {
	f.files = len(f.own)
	for _, o := range f.own {
		f.bytes += o.size
	}
	for _, s := range f.subs {
		s.sum()
		f.files += s.files
		f.bytes += s.bytes
	}
}

// choose marks the files that are listed, level by level, so that one deep
// folder cannot crowd out the others. It returns how many they are.
func (f *folder) choose(depth, most int) int {
	shown := 0
	for level := []*folder{f}; len(level) > 0 && level[0].depth < depth; {
		var below []*folder
		for _, d := range level {
			d.shown = min(len(d.own), most-shown)
			shown += d.shown
			below = append(below, d.subs...)
		}
		level = below
	}
	return shown
}
