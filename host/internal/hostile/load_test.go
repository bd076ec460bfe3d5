package hostile

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// countBombs declare more than they contain. Each of them crashed a host that passed
// it to the engine.
func countBombs() map[string][]byte {
	const most = math.MaxUint32
	none := w.Func(nil, nil)
	bombs := map[string][]byte{
		"params":        w.New().Section(w.SectionType, w.Cat(w.U32(1), []byte{0x60}, w.U32(most))...).Bytes(),
		"results":       w.New().Section(w.SectionType, w.Cat(w.U32(1), []byte{0x60, 0}, w.U32(most))...).Bytes(),
		"locals":        w.New().Types(none).Functions(0).Code(w.BodyWith([][]byte{w.Locals(most, w.I64)})).Bytes(),
		"many_locals":   w.New().Types(none).Functions(0).Code(w.BodyWith([][]byte{w.Locals(100_000_000, w.I64)})).Bytes(),
		"local_groups":  w.New().Types(none).Functions(0).Section(w.SectionCode, w.Cat(w.U32(1), w.U32(6), w.U32(most), []byte{w.End})...).Bytes(),
		"names":         w.New().Custom("name", w.Cat([]byte{1}, w.U32(6), w.U32(most), []byte{0})).Bytes(),
		"branch_table":  w.New().Types(none).Functions(0).Code(w.Body(w.Cat([]byte{w.I32Const, 0, w.BrTable}, w.U32(most), []byte{0})...)).Bytes(),
		"table":         w.New().Tables(w.Table(w.FuncRef, most, -1)).Bytes(),
		"growing_table": w.New().Tables(w.Table(w.FuncRef, 1, -1)).Bytes(),
		"tables":        w.New().Tables(slices.Repeat([][]byte{w.Table(w.FuncRef, 1<<27, 1<<27)}, 64)...).Bytes(),
		"memory":        w.New().Memories(w.Limits(most, -1)).Bytes(),
		"memories":      w.New().Memories(slices.Repeat([][]byte{w.Limits(1, 1)}, 1000)...).Bytes(),
		"whole_memory":  w.New().Memories(w.Limits(65536, 65536)).Bytes(),
		"long_name":     w.New().Section(w.SectionExport, w.Cat(w.U32(1), w.U32(most), []byte("x"))...).Bytes(),
		"section":       append(w.New().Bytes(), w.Cat([]byte{w.SectionCode}, w.U32(most))...),
		"data_segment":  w.New().Memories(w.Limits(1, 1)).Section(w.SectionData, w.Cat(w.U32(1), []byte{0, w.I32Const, 0, w.End}, w.U32(most))...).Bytes(),
		"element":       w.New().Tables(w.Table(w.FuncRef, 1, 1)).Section(w.SectionElement, w.Cat(w.U32(1), []byte{0, w.I32Const, 0, w.End}, w.U32(most))...).Bytes(),
		"overlong":      append(w.New().Bytes(), 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
		"data_count":    w.New().DataCount(most).Bytes(),
	}
	for id := w.SectionType; id <= w.SectionData; id++ {
		if id != w.SectionStart {
			bombs[fmt.Sprint("count_of_section_", id)] = w.New().Section(id, w.Lie(most)...).Bytes()
		}
	}
	return bombs
}

// compileBombs keep a compiler busy for long, in small files.
func compileBombs() map[string][]byte {
	one := func(code ...byte) []byte { return w.Exporting("run", append(code, w.I32Const, 0)...) }
	nest := func(n int, open ...byte) []byte { return one(w.Cat(w.Repeat(n, open...), w.Repeat(n, w.End))...) }
	targets := w.Repeat(100_000, 0)
	loops := bytes.Repeat([]byte{w.Loop, w.Empty}, 11_000)
	for i := range 11_000 {
		loops = append(loops, w.Cat([]byte{w.I32Const, 0, w.BrIf}, w.U32(uint32(i)), []byte{w.End})...)
	}
	ifs := w.Cat(bytes.Repeat([]byte{w.I32Const, 0, w.If, w.Empty}, 900), bytes.Repeat([]byte{w.End}, 900))
	return map[string][]byte{
		"nested":          nest(75_000, w.Block, w.Empty),
		"nested_a_little": nest(9_000, w.Block, w.Empty),
		"loops":           one(loops...),
		"loops_a_little":  nest(990, w.Loop, w.Empty),
		"ifs":             nest(200_000, w.I32Const, 0, w.If, w.Empty),
		"ifs_a_little":    one(bytes.Repeat(ifs, 1)...),
		"br_table":        one(w.Cat([]byte{w.Block, w.Empty, w.I32Const, 0, w.BrTable}, w.U32(100_000), targets, []byte{0, w.End})...),
		"br_table_fits":   one(w.Cat([]byte{w.Block, w.Empty, w.I32Const, 0, w.BrTable}, w.U32(19_000), targets[:19_000], []byte{0, w.End})...),
		"long_body":       one(bytes.Repeat([]byte{w.I32Const, 1, w.Drop}, 1_000_000)...),
	}
}

// odd puts files that are no plugins into a folder.
func odd(t *testing.T, dir string) {
	t.Helper()
	write := func(name string, content []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("empty.wasm", nil)
	write("zip.wasm", []byte("PK\x03\x04 not one of ours"))
	write("script.wasm", []byte("#!/bin/sh\nexit 1\n"))
	write("component.wasm", []byte("\x00asm\x0d\x00\x01\x00"))
	write("only_a_manifest/plugin.toml", []byte("schema = 1\nname = \"only_a_manifest\"\n"))
	write("bad_manifest/plugin.toml", []byte("schema = \x00["))
	write("deep_manifest/plugin.toml", []byte("x = "+strings.Repeat("[", 100_000)))
	write("long_manifest/plugin.toml", bytes.Repeat([]byte("a = 1\n"), 500_000))
	write("elsewhere/plugin.toml", []byte("schema = 1\nname = \"elsewhere\"\nwasm = \"../../../../etc/passwd\"\n"))
	write("\u202egnp.wasm", w.Echo("run"))
	write("name with\nline break.wasm", w.Echo("run"))
	write("folder.wasm/x", nil)
	for link, to := range map[string]string{"zero.wasm": "/dev/zero", "self.wasm": "self.wasm", "passwd.wasm": "/etc/passwd", "up": "..", "out/plugin.toml": "/dev/random"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(dir, "sparse.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(4 << 30); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, pipe := range []string{"pipe.wasm", "piped/plugin.toml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, pipe)), 0o755); err != nil {
			t.Fatal(err)
		}
		makePipe(t, filepath.Join(dir, pipe))
	}
}

// survives opens a folder of untrusted plugins, calls those that are ready, and checks
// that the honest tool answers meanwhile.
func survives(t *testing.T, dir string, change func(*host.Config)) *host.Host {
	t.Helper()
	dropIn(t, dir, honest)
	began := time.Now()
	h := open(t, dir, host.OwnProcess, change)
	within(t, "opening", time.Since(began), 3*time.Second)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			r, took := ask(t, h, tool.En, "honest", `{"n":1}`)
			if r.Err != nil {
				t.Errorf("the honest tool: %v", r.Err)
			}
			within(t, "an honest call", took, 3*time.Second)
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	for _, p := range h.Plugins() {
		if p.State != plugin.Ready {
			for _, why := range append([]tool.Text{p.Why, p.Fix}, p.Problems...) {
				if why := why.String(); why != "" {
					sentence(t, p.Name, strings.ReplaceAll(why, dir, ""))
				}
			}
		}
	}
	var names []string
	for _, tl := range h.Tools() {
		if tl.Plugin != "" && tl.Spec.Name != "honest" {
			names = append(names, tl.Spec.Name)
		}
	}
	together(names, 3, func(name string) {
		if r, _ := ask(t, h, tool.En, name, `{}`); r.Err != nil {
			readable(t, name, r.Err)
		}
	})
	close(stop)
	wg.Wait()
	return h
}

// One folder has every file that crashed a host, or could have, and an honest plugin.
func TestAFolderOfHostilePlugins(t *testing.T) {
	before := resident()
	dir := t.TempDir()
	odd(t, dir)
	for name, wasm := range countBombs() {
		dropIn(t, dir, dropped{name: name, wasm: wasm})
		if err := os.WriteFile(filepath.Join(dir, "lone_"+name+".wasm"), wasm, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := survives(t, dir, nil)
	for _, p := range h.Plugins() {
		if _, bomb := countBombs()[p.Name]; bomb && p.State == plugin.Ready {
			t.Errorf("%s is ready", p.Name)
		}
	}
	if grown := resident() - before; grown > mostMemory() {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

// Compile bombs are refused, or compiled in a process that is killed at its limits; a
// second start does not compile those again.
func TestCompileBombs(t *testing.T) {
	if !host.CanIsolate() {
		return // nothing ends a compiler in this process
	}
	dir := t.TempDir()
	for name, wasm := range compileBombs() {
		dropIn(t, dir, dropped{name: name, wasm: wasm, timeout: 5 * time.Second})
	}
	quarantine := filepath.Join(t.TempDir(), "quarantine.json")
	tight := func(c *host.Config) {
		c.Sandbox.Workers.CompileCPU, c.Sandbox.Workers.CompileMemory, c.Sandbox.Workers.Quarantine = 2*time.Second, 256<<20, quarantine
	}
	h := survives(t, dir, tight)
	h.Close()
	listed, err := os.ReadFile(quarantine)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	again := survives(t, dir, tight)
	if now, _ := os.ReadFile(quarantine); string(now) != string(listed) {
		t.Errorf("the second start tried again:\n%s\n%s", listed, now)
	}
	again.Close()
}

// whole is a module with a section of every kind, for tests that damage it.
func whole() []byte {
	return shape{table: 32, start: op(), helpers: []part{answer}, exports: map[string]part{
		"run": do(num(1), op(opCallIndirect, byte(tRun), 0), drop, times(3, num(64), num(7), memory(opStore32, 0)), says("whole"), answer),
	}}.bytes()
}

// A valid module is cut at each length and single bits are changed. What still loads
// is called; nothing stops the host.
func TestBrokenFiles(t *testing.T) {
	wasm := whole()
	// Cut where its last section begins it is a module still, without data.
	ends := fmt.Sprint("cut_", len(wasm)-len(w.New().Data(w.Segment(8, []byte("data"))).Bytes())+len(w.New().Bytes()))
	cuts, flips := 40, 80
	if thorough {
		cuts, flips = len(wasm), 1500
	}
	seed := uint64(1) // the short form does the same every time
	if thorough {
		seed = rand.Uint64()
	}
	dice := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d, %d bytes", seed, len(wasm))
	for begin := 0; begin < max(cuts, flips); begin += 200 { // folders of a size that people have
		dir := t.TempDir()
		for i := begin; i < min(begin+200, cuts); i++ {
			n := i * len(wasm) / cuts
			dropIn(t, dir, dropped{name: fmt.Sprint("cut_", n), wasm: wasm[:n]})
		}
		for i := begin; i < min(begin+200, flips); i++ {
			bad := bytes.Clone(wasm)
			at := dice.IntN(len(bad))
			bad[at] ^= 1 << dice.IntN(8)
			dropIn(t, dir, dropped{name: fmt.Sprintf("flip_%d_at_%d", i, at), wasm: bad})
		}
		h := survives(t, dir, nil)
		ready := 0
		for _, p := range h.Plugins() {
			if p.State == plugin.Ready {
				ready++
				if strings.HasPrefix(p.Name, "cut_") && p.Name != ends {
					r, err := h.Session("somebody", "talk").Call(context.Background(), tool.Call{Tool: p.Name, Args: []byte(`{}`)})
					if err != nil || r.Err == nil {
						t.Errorf("%s works: %v", p.Name, err)
					}
				}
			}
		}
		if thorough {
			t.Logf("| broken files, folder from %d on | %d plugins, %d of them loaded |", begin, len(h.Plugins()), ready)
		}
	}
}
