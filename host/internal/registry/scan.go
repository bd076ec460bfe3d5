package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/plugindir"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/version"
	"github.com/weirhost/weir/host/internal/wasmcheck"
	"github.com/weirhost/weir/host/internal/within"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// maxWasm is the largest module that is read, in bytes.
const maxWasm = wasmcheck.MaxFileBytes

// Options configure a scan. The zero Options are valid.
type Options struct {
	// Version is this host's version, for min_host. An empty version, or one
	// without numbers, satisfies every plugin.
	Version string
	// Previous is the current snapshot. If two plugins have the same name, the one
	// in Previous stays; if Previous is nil, the first in order.
	Previous *Snapshot
	// Describe requests the tool lists of third-party plugins. If nil, Scan
	// refuses these plugins.
	Describe Describer
	// Judges starts a Judge for one scan, and returns what ends it. If nil, or if it
	// returns none, manifests are checked in this process.
	Judges func(ctx context.Context) (judge Judge, end func())
	// InFlux reports whether the files of a changed plugin are still being written.
	// Scan then keeps the version of Previous. broken: the current files are
	// invalid. If nil, Scan uses the files as they are.
	InFlux func(source string, broken bool) bool
	// Known are sources that keep their names like those in Previous, such as
	// approved plugins.
	Known map[string]bool
	// Index contains facts of module files from earlier scans, which Scan need not
	// read again. If nil, Scan reads every file.
	Index *modindex.Index
}

// A Snapshot is the result of a scan. It is immutable.
type Snapshot struct {
	// Plugins are valid; their asks may still need grants. Sorted by name.
	Plugins []*Plugin
	// Refused are invalid; sorted by source.
	Refused []Refusal
	// Pending have not returned their tool list yet and have no tools until a
	// later scan. Sorted by name.
	Pending []*Plugin
	// Warnings are about plugins that can be used.
	Warnings []Problem
	// InFlux are plugins whose files are still being written; sorted by source.
	InFlux []InFlux

	facts map[string]moduleFacts // by sha256, for the next scan

	once     sync.Once
	bySource map[string]*Plugin // index of Plugins, created on first use
}

// A Plugin is a plugin whose manifest and module match.
type Plugin struct {
	Manifest Manifest
	Folder   plugin.Folder
	// Source is the file a person edits: the manifest, or the .wasm that holds it.
	Source string
	// WasmPath is the file of the module, or of the script that it is made of.
	// WasmBytes is the module's size.
	WasmPath  string
	WasmBytes int
	// WasmSHA256 and ManifestSHA256 are in hex.
	WasmSHA256, ManifestSHA256 string
	// IsGo reports whether the Go toolchain built the module.
	IsGo bool
	// ABI is the plugin's calling convention.
	ABI ABI
	// Warnings do not prevent the plugin from running.
	Warnings []Problem

	made     made
	unjudged bool            // its manifest could not be checked
	index    *modindex.Index // its entry for the module is removed if wrong
}

// Exports returns the exports that run the plugin's tools and, for a third-party
// ABI, the one that lists them.
func (p *Plugin) Exports() []string {
	if p.ABI != ABIOwn {
		list, call := p.ABI.Exports()
		return []string{list, call}
	}
	var out []string
	for _, t := range p.Manifest.Tools {
		out = append(out, t.Export)
	}
	return out
}

// Read returns the module's bytes. It returns an error if they have changed since
// the scan; the next scan then reads the file despite an index.
func (p *Plugin) Read() ([]byte, error) {
	_, wasm, err := p.readBoth()
	return wasm, err
}

// readBoth returns the bytes of the file, and the module that they are or that is
// made of them.
func (p *Plugin) readBoth() (file, wasm []byte, err error) {
	if file, _, err = p.module().Read(maxWasm); err != nil {
		return nil, nil, msg.Errorf("%s cannot be read any more", p.WasmPath)
	}
	if wasm, err = p.moduleOf(file); err != nil || digest(wasm) != p.WasmSHA256 {
		p.index.Forget(p.indexKey())
		return nil, nil, msg.Errorf("%s: %w", p.WasmPath, ErrChanged)
	}
	return file, wasm, nil
}

// ErrChanged reports that a module's file has changed since the scan.
var ErrChanged = msg.Errorf("the file has changed since it was scanned")

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Scan reads the folders, in order. It never fails as a whole: a missing folder is
// a warning, an invalid plugin is refused. If ctx ends, the Snapshot lacks the
// plugins that were not read yet.
func Scan(ctx context.Context, folders []plugin.Folder, opt Options) *Snapshot {
	s := &scan{opt: opt, folders: folders, snap: &Snapshot{}, owner: map[string]*Plugin{}}
	end := s.judges(ctx)
	var all []candidate
	old := opt.Previous.sources()
	maps.Copy(old, opt.Known)
	for _, f := range folders {
		all = append(all, s.candidates(f, old)...)
	}
	all = append(all, s.missedByListing(all)...)
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(rank(old, a), rank(old, b)) })
	found := s.openAll(ctx, all)
	end()
	s.describe(ctx, found)
	for _, r := range s.inOrder(found) {
		s.classify(r)
	}
	slices.SortFunc(s.snap.Pending, func(a, b *Plugin) int { return cmp.Compare(a.Manifest.Name, b.Manifest.Name) })
	s.keepVanished(all)
	slices.SortFunc(s.snap.InFlux, func(a, b InFlux) int { return cmp.Compare(a.Source, b.Source) })
	slices.SortFunc(s.snap.Plugins, func(a, b *Plugin) int { return cmp.Compare(a.Manifest.Name, b.Manifest.Name) })
	slices.SortFunc(s.snap.Refused, func(a, b Refusal) int { return cmp.Compare(a.Source, b.Source) })
	return s.snap
}

// sources are the files of the plugins in force.
func (s *Snapshot) sources() map[string]bool {
	m := map[string]bool{}
	if s != nil {
		for _, p := range s.Plugins {
			m[p.Source] = true
		}
	}
	return m
}

// rank orders candidates: of two with the same name the first stays.
func rank(old map[string]bool, c candidate) int {
	if old[c.source] {
		return 0
	}
	return 1
}

// inOrder returns the readings in the order in which they get their names: first the
// shipped plugins, from which no other takes one, and last those of them that a plugin of
// another folder replaces by its name.
func (s *scan) inOrder(found []reading) []reading {
	own := map[string]bool{}
	for _, r := range found {
		if old := s.opt.Previous.from(r.source); old != nil && !r.folder.Shipped {
			own[old.Manifest.Name] = true
		}
		if r.plugin != nil && !r.folder.Shipped && len(errorsOf(r.problems)) == 0 {
			own[r.plugin.Manifest.Name] = true
		}
	}
	turn := func(r reading) int {
		switch {
		case !r.folder.Shipped:
			return 1
		case r.plugin != nil && own[r.plugin.Manifest.Name]:
			return 2
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b reading) int { return cmp.Compare(turn(a), turn(b)) })
	return found
}

// A scan is one run of Scan.
type scan struct {
	opt     Options
	folders []plugin.Folder
	snap    *Snapshot
	owner   map[string]*Plugin // by tool name, by "plugin "+name, and by "like "+what either is easily taken for

	// thorough makes the scan check the module even if the manifest is invalid: an
	// author wants all problems at once.
	thorough bool
	judge    Judge // nil: this process

	now func() time.Time // nil: time.Now

	mu sync.Mutex // guards snap.facts while candidates are opened
}

// A candidate is something in a folder that may be a plugin.
type candidate struct {
	folder plugin.Folder
	name   string   // of the folder or file, for messages
	source string   // plugin.toml, or the .wasm alone
	packed bool     // a .wasm alone
	lone   *Problem // it has no manifest; nil: it may have
}

// candidates lists the folders with a manifest, and the modules, in a folder. It
// refuses what the folder holds beyond the bound, as one.
func (s *scan) candidates(f plugin.Folder, old map[string]bool) []candidate {
	l, err := plugindir.List(f.Path, ManifestName, func(source string) bool { return old[source] })
	if err != nil {
		p := Problem{File: f.Path, Msg: tool.Textf("the plugin folder cannot be read"), Fix: tool.Textf("make it, or name another folder"), Warning: true}
		if errors.Is(err, fs.ErrNotExist) {
			p.Msg = tool.Textf("the plugin folder does not exist")
		}
		s.snap.Warnings = append(s.snap.Warnings, p)
		return nil
	}
	if n := len(l.Left); n > 0 {
		c := candidateOf(f, l.Left[0])
		s.snap.Refused = append(s.snap.Refused, Refusal{Name: c.name, Place: c.name, Source: c.source, Folder: f, Problems: []Problem{{
			File: f.Path, Msg: tool.Textf("the plugin folder holds more than %d plugins; this one and %d more are left out", plugindir.Most, n-1),
			Fix: tool.Textf("move what is no plugin out of the folder"),
		}}})
	}
	var out []candidate
	for _, c := range l.Found {
		out = append(out, candidateOf(f, c))
	}
	for _, c := range l.Stray {
		one := candidateOf(f, c)
		one.lone = loneProblem(c.Source, c.File)
		out = append(out, one)
	}
	return out
}

func candidateOf(f plugin.Folder, c plugindir.Candidate) candidate {
	return candidate{folder: f, name: text.InLine(strings.TrimSuffix(c.Name, ".wasm")), source: c.Source, packed: c.Packed}
}

// exists reports whether a file exists, even if it cannot be read.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// loneProblem is that of a module or a script without a manifest, or of an empty folder.
func loneProblem(source, file string) *Problem {
	fix := manifestFix("wasm", filepath.Base(file))
	switch filepath.Ext(file) {
	case "":
		return &Problem{File: source, Msg: tool.Textf("the folder is empty"), Fix: tool.Textf("put a plugin into it, or remove it")}
	case ".js":
		fix = manifestFix("script", filepath.Base(file))
	case ".ts":
		fix = tool.Textf("give it a folder as main.ts with a %s that says script = %q and has a [[tool]] for each of its functions; `weir plugin build` makes main.js of it, `weir plugin new --lang ts` a folder to start from", ManifestName, "main.js")
	}
	return &Problem{File: file, Msg: tool.Textf("no %s beside it names its tools", ManifestName), Fix: fix}
}

// manifestFix says which manifest a module or script needs.
func manifestFix(key, name string) tool.Text {
	return tool.Textf("give it a folder with a %s that says %s = %q and has a [[tool]] for each of its functions; `weir plugin new` makes one to start from", ManifestName, key, name)
}

// A reading is a candidate with the content of its files.
type reading struct {
	candidate
	plugin     *Plugin
	problems   []Problem
	pending    bool
	listFailed bool // the request for its tool list failed, or the check of its manifest
}

func (s *scan) open(c candidate) reading {
	if c.lone != nil {
		return reading{candidate: c, problems: []Problem{*c.lone}}
	}
	p, problems := s.read(c)
	for i := range problems {
		problems[i] = problems[i].sanitize()
	}
	if p != nil && len(errorsOf(problems)) > 0 {
		if p.WasmPath != "" || len(p.made.beside) > 0 || p.unjudged {
			p.ManifestSHA256 = "" // it is not the text alone
		}
		p.made = made{} // all that were read are in memory until the last is
	}
	return reading{candidate: c, plugin: p, problems: problems, listFailed: p != nil && p.unjudged}
}

// openAll opens candidates, several at a time, until ctx ends.
func (s *scan) openAll(ctx context.Context, all []candidate) []reading {
	found := make([]reading, len(all))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(maxReaders, runtime.GOMAXPROCS(0), len(all)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				found[i] = s.open(all[i])
			}
		})
	}
	readers.Wait()
	return slices.DeleteFunc(found, func(r reading) bool { return r.source == "" }) // not opened
}

// maxReaders bounds the modules in memory at the same time.
const maxReaders = 4

// describe asks all plugins together that say themselves what they have.
func (s *scan) describe(ctx context.Context, found []reading) {
	var asked []*reading
	var plugins []*Plugin
	for i, r := range found {
		if r.plugin != nil && r.plugin.Asked() != "" && len(errorsOf(r.problems)) == 0 {
			asked, plugins = append(asked, &found[i]), append(plugins, r.plugin)
		}
	}
	if len(asked) == 0 {
		return
	}
	if s.opt.Describe == nil {
		for _, r := range asked {
			if r.plugin.IsScript() {
				continue // its manifest says which tools it has
			}
			r.problems = append(r.problems, Problem{File: r.source, Msg: tool.Textf("the plugin was made for another host; its tools are known only when its export %s runs", r.plugin.Asked()), Fix: tool.Textf("drop it into the plugin folder, where `weir plugin list` shows it")})
		}
		return
	}
	for i, d := range s.opt.Describe(ctx, plugins) {
		if r := asked[i]; d.Pending {
			r.pending = true
		} else {
			r.listFailed = d.Err != nil
			r.problems = append(r.problems, r.plugin.describe(d)...)
		}
	}
}

// classify adds a reading to Plugins, Pending, Refused or InFlux.
func (s *scan) classify(c reading) {
	p, problems := c.plugin, c.problems
	for i := range problems {
		problems[i] = problems[i].sanitize()
	}
	if s.keepInFlux(c, errorsOf(problems)) {
		return
	}
	if len(errorsOf(problems)) == 0 {
		taken := s.clashes(p)
		if c.folder.Shipped && len(taken) > 0 {
			return // it is replaced, as plugin.Folder says
		}
		problems = append(problems, taken...)
	}
	if bad := errorsOf(problems); len(bad) > 0 {
		r := Refusal{Name: c.name, Place: c.name, Source: c.source, Folder: c.folder, Problems: bad, ListFailed: c.listFailed}
		if p != nil {
			r.Name, r.WasmSHA256 = strings.Clone(cmp.Or(p.Manifest.Name, c.name)), p.WasmSHA256
			r.manifest = p.ManifestSHA256
		}
		r.Gone = p != nil && p.WasmPath != "" && !exists(p.WasmPath)
		s.snap.Refused = append(s.snap.Refused, r)
		return
	}
	if c.pending {
		s.snap.Pending = append(s.snap.Pending, p)
		s.register(p)
		return
	}
	p.Warnings = warningsOf(problems)
	s.admit(p)
}

// admit adds a plugin and its names.
func (s *scan) admit(p *Plugin) {
	s.snap.Warnings = append(s.snap.Warnings, p.Warnings...)
	s.snap.Plugins = append(s.snap.Plugins, p)
	s.register(p)
}

// clashes returns problems for names that are equal to, or look like, those of an
// earlier plugin or of the host.
func (s *scan) clashes(p *Plugin) []Problem {
	out := s.lookalikes(p)
	if o, ok := s.owner["plugin "+p.Manifest.Name]; ok {
		out = append(out, Problem{File: p.Source, Key: "name", Msg: tool.Textf("the plugin name %q belongs to %s already", p.Manifest.Name, o.Source), Fix: tool.Textf("rename or remove one of the two")})
	}
	for _, t := range p.Manifest.Tools {
		if o, ok := s.owner[t.Spec.Name]; ok {
			out = append(out, Problem{File: p.Source, Key: "tool.name", Msg: tool.Textf("the tool name %q belongs to the plugin %s (%s) already", t.Spec.Name, o.Manifest.Name, o.Source), Fix: tool.Textf("rename the tool in %s, or remove one of the two plugins", p.Manifest.Name)})
		}
	}
	return out
}

// read reads a candidate's manifest and module.
func (s *scan) read(c candidate) (*Plugin, []Problem) {
	if c.packed {
		return s.readPacked(c)
	}
	text, err := (within.Place{Dir: filepath.Dir(c.source), Name: filepath.Base(c.source)}).ReadFile(maxManifest)
	if err != nil {
		p := unreadable(c.source, tool.Textf("the manifest cannot be read"), err)
		if errors.Is(err, fs.ErrNotExist) {
			p.Msg, p.Fix = tool.Textf("the manifest cannot be read: it has just gone, or is a link that leads nowhere"), tool.Textf("put the file back, or remove the link")
		}
		return nil, []Problem{p}
	}
	sum := digest(text)
	p := &Plugin{Folder: c.folder, Source: c.source, ManifestSHA256: sum, made: made{manifest: text, beside: map[string][]byte{}}}
	if old := s.opt.Previous.refused(c.source); old != nil && old.manifest == sum { // parsing it costs 30 ns a byte
		return &Plugin{Manifest: Manifest{Name: old.Name}, Source: c.source, ManifestSHA256: sum}, old.Problems
	}
	problems := s.manifest(c.name, p, c.source, text, func(name string) ([]byte, error) { return beside(c.source, name) })
	m := p.Manifest
	if old := s.tooOld(c.source, m); old != nil {
		return p, old // other problems may come from new features
	}
	if len(errorsOf(problems)) > 0 && (!s.thorough || m.Name == "") {
		return p, problems
	}
	p.WasmPath = filepath.Join(filepath.Dir(c.source), m.Wasm)
	l, bad := s.module(p)
	if bad == nil {
		bad = p.fits(l)
	}
	return p, append(problems, bad...)
}

// readPacked reads a module that contains its manifest.
func (s *scan) readPacked(c candidate) (*Plugin, []Problem) {
	p := &Plugin{Folder: c.folder, Source: c.source, WasmPath: c.source}
	l, bad := s.module(p)
	if bad != nil {
		return nil, bad
	}
	if l.Err != nil {
		return p, []Problem{notAModule(c.source, l.Err)}
	}
	abi := abiOf(l.Exports)
	switch {
	case l.Manifest != nil:
		return p, s.readSection(p, l)
	case abi != ABIOwn:
		return p, p.readThirdParty(abi, l)
	}
	fix := manifestFix("wasm", filepath.Base(c.source))
	if functions := toolExports(l.Exports); len(functions) > 0 {
		fix = tool.Textf("put it into a folder of its own beside a %s with a [[tool]] for %s; `weir plugin pack` makes one file of the two", ManifestName, strings.Join(functions, ", "))
	} else if l.IsGo {
		fix = goExportFix()
	}
	return p, []Problem{{File: c.source, Msg: tool.Textf("the module carries no manifest"), Fix: fix}}
}

// readSection reads a manifest from a module's custom section.
func (s *scan) readSection(p *Plugin, l moduleFacts) []Problem {
	p.ManifestSHA256 = digest(l.Manifest)
	problems := s.manifest(filepath.Base(p.Source), p, p.Source+"#"+SectionName, l.Manifest, nil)
	if old := s.tooOld(p.Source, p.Manifest); old != nil {
		return old
	}
	if len(errorsOf(problems)) == 0 {
		problems = append(problems, p.fits(l)...)
	}
	return problems
}

// tooOld returns a problem if the plugin needs a newer host.
func (s *scan) tooOld(source string, m Manifest) []Problem {
	if m.MinHost == "" || !version.Older(s.opt.Version, m.MinHost) {
		return nil
	}
	return []Problem{{File: source, Key: "min_host", Msg: tool.Textf("the plugin needs weir %s or newer, and this is %s", m.MinHost, s.opt.Version), Fix: tool.Textf("update weir, or use an older version of the plugin")}}
}

// fits compares the module with the manifest and sets the plugin's facts.
func (p *Plugin) fits(l moduleFacts) []Problem {
	switch {
	case l.Err != nil && p.IsScript():
		return []Problem{{File: p.WasmPath, Msg: msg.Of(l.Err), Fix: tool.Textf("write a script in UTF-8 that exports a function for each tool")}}
	case l.Err != nil:
		return []Problem{notAModule(p.WasmPath, l.Err)}
	}
	p.setFacts(l)
	var out []Problem
	for _, t := range p.Manifest.Tools {
		if !slices.Contains(l.Exports, t.Export) {
			out = append(out, Problem{File: p.WasmPath, Key: "tool.export", Msg: tool.Textf("the module does not export %q, which the tool %s runs", t.Export, t.Spec.Name), Fix: exportFix(l.Exports, l.IsGo)})
		}
	}
	return out
}

// toolExports returns the exports that can be tools, and "…" after the twelfth.
func toolExports(exports []string) (named []string) {
	for _, e := range exports {
		if !strings.HasPrefix(e, "_") && !strings.HasPrefix(e, "weir_") && e != "malloc" && e != "free" {
			named = append(named, e)
		}
	}
	if len(named) > 12 {
		named = append(named[:12], "…")
	}
	return named
}

// goExportFix is the remedy for a module that Go's own compiler built of sources for
// TinyGo.
func goExportFix() tool.Text {
	return tool.Textf("write //go:wasmexport above the function, and build again: Go's own compiler ignores //export, which is TinyGo's")
}

// exportFix returns a remedy that names the module's exports.
func exportFix(exports []string, isGo bool) tool.Text {
	named := toolExports(exports)
	switch {
	case len(named) == 0 && isGo:
		return goExportFix()
	case len(named) == 0:
		return tool.Textf("export it from the source, and build again")
	}
	return tool.Textf("export it from the source, or set export to one of: %s", strings.Join(named, ", "))
}

// module returns the location of the module. With a manifest, it must be inside
// the plugin's folder. A single .wasm may be a link, because a person created it.
func (p *Plugin) module() within.Place {
	if p.Source == p.WasmPath {
		return within.Place{Name: p.WasmPath}
	}
	return within.Place{Dir: filepath.Dir(p.Source), Name: p.Manifest.Wasm}
}

// unread returns the Problem of a module file that could not be read.
func (p *Plugin) unread(err error) []Problem {
	path := p.WasmPath
	switch {
	case errors.Is(err, within.ErrLeadsOut):
		return []Problem{{File: path, Msg: tool.Textf("the module cannot be read: %s", within.ErrLeadsOut), Fix: tool.Textf("put the module itself there; the plugin's folder as a whole may be a link")}}
	case errors.Is(err, fs.ErrNotExist):
		if p.IsScript() {
			return []Problem{{File: path, Msg: tool.Textf("the script is missing"), Fix: tool.Textf("put it there, build it from TypeScript with `weir plugin build`, or correct script in %s", ManifestName)}}
		}
		return []Problem{{File: path, Msg: tool.Textf("the module is missing"), Fix: tool.Textf("build it with `weir plugin build`, or in weir's own repository with `make plugins`")}}
	case errors.As(err, new(within.TooLong)):
		p := unreadable(path, tool.Textf("the module cannot be read"), err)
		p.Fix = tool.Textf("build it without names and debugging data, for Go with -ldflags=\"-s -w\", for C and Rust with -s")
		return []Problem{p}
	}
	return []Problem{unreadable(path, tool.Textf("the module cannot be read"), err)}
}

func notAModule(path string, err error) Problem {
	return Problem{File: path, Msg: msg.Of(err), Fix: tool.Textf("build it again as a core WebAssembly module, and copy it whole")}
}

// unreadable is the Problem of a file that is there and cannot be read.
func unreadable(path string, what tool.Text, err error) Problem {
	p := Problem{File: path, Msg: reason(err, what)}
	if errors.Is(err, fs.ErrPermission) {
		p.Fix = tool.Textf("let the user that runs weir read it, for example with: chmod a+rX %s %s", text.ShellWord(filepath.Dir(path)), text.ShellWord(path))
	}
	return p
}

// reason keeps an error's own words when they are ours, without the path that
// the Problem names already.
func reason(err error, what tool.Text) tool.Text {
	return tool.Textf("%v: %v", what, msg.Reason(err))
}
