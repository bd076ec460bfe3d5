package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"regexp"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultResults = 100       // matches for the model to read where no agent's limit says otherwise
	ownBytes       = 4 << 10   // room for the first line
	maxFile        = 4 << 20   // bytes; larger files are passed over
	maxTotal       = 256 << 20 // bytes read by one call
	maxSources     = 50
	defaultContext = 2
)

type args struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"` // a file or folder; empty: the workspace
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	Offset     int    `json:"offset"` // matches to pass over
}

// search finds every line that matches and writes it with the lines around it, after a
// first line that gives the totals.
func search(c *guest.Call, in args) (guest.Result, error) {
	s, err := newSearcher(in, max(c.ConfigInt("show_context", defaultContext), 0))
	if err != nil {
		return guest.Result{}, err
	}
	s.out.Show = max(c.ConfigInt("max_results", defaultResults), 1)
	tree := files.In(c, files.Workspace)
	name, info, err := tree.Stat(in.Path)
	if err != nil {
		return guest.Result{}, err
	}
	if info.IsDir() {
		err = tree.Walk(name, func(e files.Entry) error { return s.visit(tree.FS, name, e) })
	} else {
		s.file(tree.FS, name, info.Size())
	}
	if err != nil {
		return guest.Result{}, err
	}
	if in.Offset > 0 && in.Offset >= s.matches {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Give a smaller offset.",
			"There are %s matching lines; offset is %d.", guest.Grouped(s.matches), in.Offset).
			Zh("请使用较小的 offset。", "共有 %s 行匹配；offset 是 %d。")
	}
	return s.result(c, in), nil
}

// searcher holds one search and what it has found so far.
type searcher struct {
	re      *regexp.Regexp
	glob    glob
	context int // lines shown before and after a match
	skip    int // matches still to pass over

	out     guest.List
	matches int  // matching lines in all
	full    bool // out has as much as the host keeps
	hits    int  // files with a match
	looked  int  // files searched
	binary  int  // files passed over because they hold no text
	big     int  // because of their size
	bytes   int  // read from files
	stopped bool
	sources []tool.Source
}

func newSearcher(in args, context int) (*searcher, error) {
	if in.Offset < 0 {
		return nil, guest.Errorf(tool.BadArgs, "Leave it out to see the first matches.", "\"offset\" must not be negative.").
			Zh("省略时从第一处匹配开始。", "\"offset\" 不能为负数。")
	}
	re, err := compile(in.Pattern, in.IgnoreCase)
	if err != nil {
		return nil, err
	}
	g, err := newGlob(in.Glob)
	if err != nil {
		return nil, err
	}
	return &searcher{re: re, glob: g, context: context, skip: in.Offset}, nil
}

// visit searches one entry of the walk.
func (s *searcher) visit(fsys fs.FS, start string, e files.Entry) error {
	if !e.Type().IsRegular() || !s.glob.match(start, e.Name) {
		return nil
	}
	if s.bytes >= maxTotal {
		s.stopped = true
		return fs.SkipAll
	}
	size := int64(0)
	if info, err := e.Info(); err == nil {
		size = info.Size()
	}
	s.file(fsys, e.Name, size)
	return nil
}

// file searches one file; one that cannot be read counts as not searched.
func (s *searcher) file(fsys fs.FS, name string, size int64) {
	if size > maxFile {
		s.big++
		return
	}
	data, err := content(fsys, name)
	if err != nil {
		return
	}
	s.bytes += len(data)
	if files.Binary(data[:min(len(data), files.SniffBytes)]) != "" {
		s.binary++
		return
	}
	s.looked++
	s.text(name, bytes.ReplaceAll(files.Text(data), []byte("\r\n"), []byte("\n")))
}

func content(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// text finds the matching lines of one file. The expression never matches
// across a line end, so each match lies in one line and the search goes on
// after that line.
func (s *searcher) text(name string, data []byte) {
	before := s.matches
	w := writer{out: &s.out, name: name, data: data, context: s.context}
	for pos, line := 0, 1; pos < len(data); {
		m := s.re.FindIndex(data[pos:])
		if m == nil {
			break
		}
		at := pos + m[0]
		start := pos + bytes.LastIndexByte(data[pos:at], '\n') + 1
		if start == len(data) {
			break // an empty match after the last line end
		}
		line += bytes.Count(data[pos:start], []byte("\n"))
		end := lineEnd(data, start)
		s.matches++
		switch {
		case s.skip > 0:
			s.skip--
		case !s.full:
			s.full = !w.match(start, end, line, at)
		}
		pos, line = end+1, line+1
	}
	w.flush()
	if s.matches > before {
		s.hits++
		if len(s.sources) < maxSources {
			s.sources = append(s.sources, tool.Source{Title: name, URL: name})
		}
	}
}

// lineEnd is where the line that holds position at ends, its newline excluded.
func lineEnd(data []byte, at int) int {
	if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(data)
}

func (s *searcher) result(c *guest.Call, in args) guest.Result {
	s.out.Head = s.headline(c, in)
	r := s.out.Result()
	r.Sources = s.sources
	if next := in.Offset + s.out.Entries(); next < s.matches {
		r.More = &tool.More{Shown: s.out.Entries(), Total: s.matches}
		r.More.Args, _ = json.Marshal(map[string]int{"offset": next})
	}
	return r
}

// headline is the first line: the totals, and what was not searched.
func (s *searcher) headline(c *guest.Call, in args) string {
	n := func(i int) string { return guest.Grouped(i) }
	where := cmp.Or(in.Path, ".")
	line := c.Say(
		n(s.matches)+plural(s.matches, " matching line", " matching lines")+" in "+n(s.hits)+plural(s.hits, " file", " files")+
			" ("+n(s.looked)+" searched in "+where+")",
		"共 "+n(s.matches)+" 行匹配，分布在 "+n(s.hits)+" 个文件中（在 "+where+" 中搜索了 "+n(s.looked)+" 个文件）")
	if in.Offset > 0 {
		line += c.Say("; from result "+n(in.Offset+1)+" on", "；从第 "+n(in.Offset+1)+" 个结果开始")
	}
	if s.big > 0 {
		line += c.Say("; "+n(s.big)+" over 4 MiB not searched", "；"+n(s.big)+" 个超过 4 MiB 的文件未搜索")
	}
	if s.binary > 0 {
		line += c.Say("; "+n(s.binary)+" binary not searched", "；"+n(s.binary)+" 个二进制文件未搜索")
	}
	if s.stopped {
		line += c.Say("; stopped after 256 MiB, name a path or glob", "；已达 256 MiB 上限而停止，请指定 path 或 glob")
	}
	return line + "\n"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
