package instrument

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/internal/testsize"
)

// desk is what a tool finds in front of it, as far as it needs anything: its
// input, and blocks of memory for its answer. Everything else it may ask for is
// answered by nothing.
type desk struct {
	input, output, fault []byte
	blocks               map[uint64][]byte
	next                 uint64
}

func (d *desk) clear(input string) {
	*d = desk{input: []byte(input), blocks: map[uint64][]byte{}, next: 64}
}

// answers are all of one call.
func (d *desk) answers() string { return fmt.Sprintf("%s|%s", d.output, d.fault) }

// at finds the bytes from an offset of some block on.
func (d *desk) at(offset uint64) []byte {
	for begin, b := range d.blocks {
		if offset >= begin && offset < begin+uint64(len(b)) {
			return b[offset-begin:]
		}
	}
	return make([]byte, 8)
}

// serve is one function of the host's; s holds its arguments and takes its result.
func (d *desk) serve(name string, s []uint64) {
	switch name {
	case "input_length":
		s[0] = uint64(len(d.input))
	case "input_load_u8":
		s[0] = uint64(d.input[s[0]])
	case "input_load_u64":
		s[0] = binary.LittleEndian.Uint64(d.input[s[0]:])
	case "alloc":
		n := s[0]
		s[0] = d.next
		d.blocks[d.next] = make([]byte, n, n+8)
		d.next += n + 64
	case "length":
		s[0] = uint64(len(d.blocks[s[0]]))
	case "load_u8":
		s[0] = uint64(d.at(s[0])[0])
	case "load_u64":
		s[0] = binary.LittleEndian.Uint64(d.at(s[0])[:8])
	case "store_u8":
		d.at(s[0])[0] = byte(s[1])
	case "store_u64":
		binary.LittleEndian.PutUint64(d.at(s[0])[:8], s[1])
	case "output_set":
		d.output = append([]byte(nil), d.at(s[0])[:s[1]]...)
	case "error_set":
		d.fault = append([]byte(nil), d.blocks[s[0]]...)
	default:
		if len(s) > 0 {
			s[0] = 0
		}
	}
}

// offer instantiates all that a module imports.
func (d *desk) offer(t testing.TB, r wazero.Runtime, m wazero.CompiledModule) {
	t.Helper()
	ctx := context.Background()
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		if r.Module(module) != nil {
			continue
		}
		var err error
		switch module {
		case wasi:
			_, err = wasi_snapshot_preview1.Instantiate(ctx, r)
		case StdioModule:
			_, err = r.InstantiateWithConfig(ctx, Stdio(), wazero.NewModuleConfig().WithName(StdioModule))
		default:
			b := r.NewHostModuleBuilder(module)
			for _, f := range m.ImportedFunctions() {
				if of, name2, _ := f.Import(); of == module {
					serve := api.GoFunc(func(_ context.Context, s []uint64) { d.serve(name2, s) })
					b = b.NewFunctionBuilder().WithGoFunction(serve, f.ParamTypes(), f.ResultTypes()).Export(name2)
				}
			}
			_, err = b.Instantiate(ctx)
		}
		if err != nil {
			t.Fatalf("%s.%s: %v", module, name, err)
		}
	}
}

// tools are the shipped ones, each with arguments. Without folders and network
// many answer that there is none, which they find out on long ways, too.
func tools() map[string][]string {
	text := func(n int) string {
		s := ""
		for i := range n {
			s += fmt.Sprintf("line %d of %d\\n", i*i%17, i)
		}
		return s
	}
	return map[string][]string{
		"calculator":           {`{"expression":"2^512 % 1000007"}`, `{"expression":"avg(1,2,3) + sqrt(2)"}`, `{"expression":"1/0"}`, `{"expression":"(1+"}`},
		"current_time":         {`{"zone":"Asia/Shanghai","at":"2026-01-02T03:04:05Z"}`, `{}`, `{"zone":"Nowhere"}`},
		"database":             {`{"csv":"a,b\n1,2\n3,4","sql":"SELECT sum(a) FROM data"}`, `{"csv":"a,b\n1,2","sql":"SELECT * FROM data WHERE b > 1"}`, `{"file_path":"x.csv"}`},
		"fetch_url":            {`{"url":"http://127.0.0.1:1/"}`, `{"url":"ftp://x"}`, `{}`},
		"get_repo_structure":   {`{"repo_path":"/"}`, `{"repo_path":"../x"}`},
		"grep_search":          {`{"query":"a.*b"}`, `{"query":"("}`, `{"query":"x","file_path":"none"}`},
		"http_request":         {`{"url":"http://127.0.0.1:1/","method":"POST","json":{"a":1}}`, `{"url":""}`},
		"image_gen":            {`{"prompt":"a weir"}`, `{"prompt":""}`, `{}`},
		"json_query":           {`{"filter":".[] | select(.a > 1) | .b","json":"[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4}]"}`, `{"filter":"map(.*2)","json":"[1,2,3]"}`, `{"filter":"}","json":"1"}`},
		"long_text":            {`{"chars":20000}`, `{"chars":10}`, `{"lines":300}`},
		"read_data_from_excel": {`{"file_path":"none.xlsx"}`, `{}`},
		"read_file":            {`{"file_path":"none"}`, `{"file_path":""}`},
		"repo_map":             {`{"repo_path":"."}`, `{"max_tokens":5}`},
		"search_web":           {`{"query":"weir"}`, `{}`},
		"search_wikipedia":     {`{"query":"weir"}`, `{"query":""}`},
		"text_diff":            {`{"old_text":"` + text(300) + `","new_text":"` + text(280) + `"}`, `{"old_text":"a","new_text":"b"}`, `{"old_text":"a"}`},
	}
}

// TestTools calls shipped tools in a renewed instance, each time with other
// arguments, and in new ones. One suffices where others are waited for; all take
// minutes to compile, see make test-instrument.
func TestTools(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(guesttest.Root(t), "plugins", "*", "plugin.toml"))
	if err != nil || len(found) != len(tools()) {
		t.Errorf("%d tools are shipped, %d are called: %v", len(found), len(tools()), err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(guesttest.Cache(t), "rewrite"))
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(context.Background())
	for name, inputs := range tools() {
		if name == "calculator" || name == "text_diff" && testsize.All() || os.Getenv("WEIR_INSTRUMENT") == "long" {
			t.Run(name, func(t *testing.T) { sameTool(t, cache, name, inputs) })
		}
	}
}

func sameTool(t *testing.T, cache wazero.CompilationCache, name string, inputs []string) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	defer r.Close(ctx)
	wasm, err := os.ReadFile(filepath.Join(guesttest.Shipped(t, name), name, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	result := rewritten(t, wasm, Options{Stop: true, Renew: true, Stdio: true})
	if !result.Renewable || result.Globals < 5 {
		t.Fatalf("got %v, %d globals", result.Obstacles, result.Globals)
	}
	original, changed := compile(t, r, wasm), compile(t, r, result.Wasm)
	d := &desk{}
	d.clear("")
	d.offer(t, r, original)
	d.offer(t, r, changed)
	begin := func(m wazero.CompiledModule) *instance {
		i, err := start(ctx, r, m, "_initialize")
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	want, answers := map[string]end{}, map[string]string{}
	for _, input := range inputs {
		fresh := begin(original)
		d.clear(input)
		want[input] = fresh.call(ctx, name)
		answers[input] = d.answers()
		t.Logf("%.60s: %.80q %s", input, answers[input], want[input].err)
		fresh.mod.Close(ctx)
	}
	renewed := begin(changed)
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 40 {
		input := inputs[random.IntN(len(inputs))]
		d.clear(input)
		got := renewed.call(ctx, name)
		if diff := got.diff(want[input]); diff != "" || d.answers() != answers[input] {
			t.Fatalf("call %d, %s: %s; %.200q and %.200q", n, input, diff, d.answers(), answers[input])
		}
		if err := renewed.renew(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
