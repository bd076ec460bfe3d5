package plugintest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/sdk/tool"
)

// Config configures a run. The zero Config runs all cases.
type Config struct {
	// Only selects cases by "FILE/NAME", such as "basic/finds a line", and fuzzing
	// by "fuzz/TOOL". If nil, Run runs everything.
	Only *regexp.Regexp
	// Update rewrites golden files that differ; they then do not fail.
	Update bool
	// FuzzCalls is the number of calls with generated arguments for each tool.
	// Zero means the number in the cases, else DefaultFuzzCalls; negative means
	// none.
	FuzzCalls int
	// Seed determines the generated arguments. Zero means the seed in the cases,
	// else 1.
	Seed uint64
	// Version is this host's version, for min_host. Empty satisfies every plugin.
	Version string
	// CacheDir stores compiled modules. If empty, each run compiles again.
	CacheDir string
	// WorkerCommand starts the processes for plugins, as in host.Config. If empty,
	// plugins run in this process.
	WorkerCommand []string
	// Logger receives the host's log and the output of the plugin. Nil discards them.
	Logger hclog.Logger
	// Observe, if not nil, receives each Outcome as soon as it is known.
	Observe func(Outcome)
}

// DefaultFuzzCalls is the number of generated calls of a tool by default.
const DefaultFuzzCalls = 100

// An Outcome is the result of one case, or of the fuzzing of one tool.
type Outcome struct {
	// Name is FILE/NAME, with File without its folder and extension; for fuzzing
	// it is fuzz/TOOL.
	Name string `json:"name"`
	Tool string `json:"tool"`
	// File, Line and Col are its position. Fuzzing that no file configures has
	// the position of the tool in the manifest.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"column,omitempty"`
	// Problems are the differences from the expectation. Without any, it passed.
	Problems []Problem `json:"problems,omitempty"`
	// Took is the sum of the calls' durations. Memory is the highest after a call.
	Took   time.Duration `json:"took_ns"`
	Memory tool.Bytes    `json:"memory,omitempty"`
	// Calls is the number of calls: 1 for a case, 0 if it could not run.
	Calls int `json:"calls"`
	// Result is the result of a case's call, Shown its text for the model.
	Result tool.Result `json:"-"`
	Shown  string      `json:"-"`
	// Updated are the golden files that the run wrote.
	Updated []string `json:"updated,omitempty"`
}

// Failed reports whether there are problems.
func (o Outcome) Failed() bool { return len(o.Problems) > 0 }

// A Report is the result of a run.
type Report struct {
	Plugin string `json:"plugin"`
	// Problems of the plugin or the files prevent cases from running.
	Problems []Problem `json:"problems,omitempty"`
	// Warnings are about the plugin. They fail nothing.
	Warnings []Problem `json:"warnings,omitempty"`
	Outcomes []Outcome `json:"outcomes"`
	// Seed is the seed of the generated arguments.
	Seed uint64        `json:"seed,omitempty"`
	Took time.Duration `json:"took_ns"`
}

// Failed counts the outcomes that failed.
func (r Report) Failed() (n int) {
	for _, o := range r.Outcomes {
		if o.Failed() {
			n++
		}
	}
	return n
}

// OK reports whether nothing failed.
func (r Report) OK() bool { return len(r.Problems) == 0 && r.Failed() == 0 }

// Run runs the cases of the plugin at path: its folder, its manifest, or a single
// .wasm with the cases in the folder tests next to it. The Report contains the
// problems of the plugin and the cases. The error is a fault of this machine, or
// that of ctx.
func Run(ctx context.Context, path string, cfg Config) (Report, error) {
	began := time.Now()
	report := Report{Plugin: baseName(path), Outcomes: []Outcome{}}
	p, problems := registry.Check(path, cfg.Version)
	report.Problems, report.Warnings = problemsOf(problems)
	if p != nil && p.Manifest.Name != "" {
		report.Plugin = p.Manifest.Name
	}
	if len(report.Problems) == 0 {
		problems, err := runner.CheckScript(ctx, p, runner.EnginesConfig{WorkerCommand: cfg.WorkerCommand, CacheDir: cfg.CacheDir, Logger: cfg.Logger})
		if err != nil {
			return report, err
		}
		report.Problems, _ = problemsOf(problems)
	}
	if len(report.Problems) > 0 {
		report.Took = time.Since(began)
		return report, nil
	}
	b, err := openBench(ctx, path, p, cfg)
	if err != nil {
		return report, err
	}
	defer b.close()
	report.Plugin = b.name
	if why := b.unusable(); !why.IsZero() {
		report.Problems = append(report.Problems, Problem{File: p.Source, Msg: why})
		return report, nil
	}
	s := suite{cfg: cfg, bench: b, report: &report, manifest: p.Source}
	err = s.run(ctx, casesOf(path))
	report.Took = time.Since(began)
	return report, err
}

// casesOf returns the files of cases of a plugin, sorted by name.
func casesOf(path string) []string {
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), CaseDir, CaseFiles))
	if err != nil {
		return nil
	}
	return slices.Sorted(slices.Values(files))
}

var globs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\[*?\\]`) })

func escapeGlob(s string) string {
	if os.PathSeparator == '\\' {
		return s
	}
	return globs().ReplaceAllString(s, `\$0`)
}

// A suite is one run over all files.
type suite struct {
	cfg      Config
	bench    *bench
	report   *Report
	manifest string
}

func (s *suite) run(ctx context.Context, paths []string) error {
	var files []*file
	for _, path := range paths {
		f := readFile(path, s.bench.tools)
		files = append(files, f)
		s.report.Problems = append(s.report.Problems, f.problems...)
	}
	if s.cfg.FuzzCalls >= 0 || slices.ContainsFunc(files, func(f *file) bool { return len(f.problems) == 0 }) {
		s.bench.warm(ctx)
	}
	for _, f := range files {
		if len(f.problems) > 0 {
			continue
		}
		for _, c := range f.cases {
			name := baseName(f.file) + "/" + c.name
			if !s.chosen(name) {
				continue
			}
			o, err := s.one(ctx, name, c)
			if err != nil {
				return err
			}
			s.add(o)
		}
	}
	return s.fuzz(ctx, files)
}

func (s *suite) chosen(name string) bool { return s.cfg.Only == nil || s.cfg.Only.MatchString(name) }

func (s *suite) add(o Outcome) {
	s.report.Outcomes = append(s.report.Outcomes, o)
	if s.cfg.Observe != nil {
		s.cfg.Observe(o)
	}
}

// baseName returns the last element of a path without its extension.
func baseName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// one runs one case.
func (s *suite) one(ctx context.Context, name string, c testCase) (Outcome, error) {
	o := Outcome{Name: name, Tool: c.tool, File: c.at.File, Line: c.at.Line, Col: c.at.Col}
	net := newNetwork(c.at, c.world.http)
	folder, problems, err := s.bench.enter(ctx, c.tool, c.world, net)
	if err != nil {
		return o, err
	}
	if len(problems) > 0 {
		o.Problems = placed(problems, c.at)
		return o, nil
	}
	r, err := s.bench.call(ctx, c.tool, c.args, c.world.locale)
	if err != nil {
		return o, err
	}
	o.Calls, o.Took, o.Memory = 1, r.Stats.Duration, r.Stats.Memory
	o.Result, o.Shown = r, rendered(r, c.world.locale)
	o.Problems, o.Updated = c.expect.check(answer{r, o.Shown, net.count, func(name string) (string, bool) { return s.bench.file(folder, name) }}, c.at, s.cfg.Update)
	o.Problems = append(o.Problems, net.finish()...)
	return o, nil
}

// placed sets the position of problems that have none.
func placed(list []Problem, at Problem) []Problem {
	for i, p := range list {
		if p.Line == 0 {
			list[i].File, list[i].Line, list[i].Col = at.File, at.Line, at.Col
		}
	}
	return list
}

// A TB is the part of *testing.T that Check uses.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Check is Run for a Go test: problems fail the test. A plugin without cases
// fails it, too.
func Check(t TB, path string, cfg Config) Report {
	t.Helper()
	r, err := Run(t.Context(), path, cfg)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, p := range r.Problems {
		t.Errorf("%s", p.text())
	}
	cases := 0
	for _, o := range r.Outcomes {
		if !strings.HasPrefix(o.Name, fuzzPrefix) {
			cases++
		}
		for _, p := range o.Problems {
			t.Errorf("%s: %s", o.Name, p.text())
		}
	}
	if cases == 0 && len(r.Problems) == 0 && cfg.Only == nil {
		t.Errorf("%s has no cases in %s/%s", path, CaseDir, CaseFiles)
	}
	return r
}

// text returns a Problem with its detail.
func (p Problem) text() string {
	if p.Detail == "" {
		return p.String()
	}
	return fmt.Sprintf("%s\n%s", p, indent(p.Detail))
}

// locales are the languages of the host.
func localeOf(l tool.Locale) tool.Locale {
	if l == tool.Zh {
		return l
	}
	return tool.En
}
