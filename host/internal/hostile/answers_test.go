package hostile

import (
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// An answerBomb is an answer of 8 MB that needs many times its size when it is read:
// a unit that repeats between a head and a tail.
type answerBomb struct{ head, unit, tail string }

// bytes8 lengthens text with blanks until whole words of memory hold it.
func bytes8(text string) string { return text + strings.Repeat(" ", -len(text)&7) }

// guest answers with the bomb.
func (b answerBomb) guest(size int) []byte {
	head, unit, tail := bytes8(b.head), bytes8(b.unit), bytes8(b.tail)
	n := (size - len(head) - len(tail)) / len(unit)
	whole := int64(len(head) + n*len(unit) + len(tail))
	fill := do(long(whole), call(fAlloc), set(0), get(0), set(1))
	put := func(text string) {
		for ; text != ""; text = text[8:] {
			fill = do(fill, get(1), word(text), call(fStore64), get(1), long(8), op(opAdd64), set(1))
		}
	}
	put(head)
	var loop part
	fill, loop = nil, fill
	put(unit)
	fill = do(loop, times(int64(n), fill))
	put(tail)
	return guest(fill, get(0), long(whole), call(fOutputSet), answer)
}

// answerBombs are answers in the form of the Model Context Protocol.
func answerBombs() map[string]answerBomb {
	return map[string]answerBomb{
		"parts":          {`{"content":[`, `{},{},{},  `, `{}]}`},
		"nulls":          {`{"content":[`, `null,null,`, `{}]}`},
		"wrong_parts":    {`{"content":[`, `0,0,0,0,`, `{}]}`},
		"texts":          {`{"content":[`, `{"text":"a"},`, `{}]}`},
		"links":          {`{"content":[`, `{"type":"resource_link","uri":"u"},`, `{}]}`},
		"resources":      {`{"content":[`, `{"resource":{"text":""}},`, `{}]}`},
		"sources":        {`{"sources":[`, `{"url":"u"},`, `{}],"content":[{"text":"a"}]}`},
		"no_sources":     {`{"sources":[`, `{},{},  `, `{}],"content":[{"text":"a"}]}`},
		"other_spelling": {`{"C\u004fNTENT":[`, `{},{},  `, `{}]}`},
		"often":          {`{"content":[{}`, `],"content":[{}`, `]}`},
		"values":         {`{"content":[{"text":"{}"}],"structuredContent":{"a":[`, `[],[],  `, `{}]}}`},
		"keys":           {`{"content":[{"text":"{}"}],"structuredContent":{"a":[`, `{"a":{}},`, `{}]}}`},
		"deep":           {`{"content":[{"text":"{}"}],"structuredContent":`, `[[[[[[[[`, `0}`},
		"more":           {`{"content":[{"text":"a"}],"more":{"shown":1,"args":{"a":0`, `,"a":0  `, `}}}`},
		"error_words":    {`{"isError":true,"content":[{"text":"`, `a b c d `, `"}]}`},
		"name":           {`{"content":[{"type":"image","data":"","name":"`, `a b c d `, `"}]}`},
		"escapes":        {`{"content":[{"text":"`, `\u0007\u0007\u0007\u0007`, `"}]}`},
		"not_utf8":       {`{"content":[{"text":"`, "\xff\xfe\xff\xfe\xff\xfe\xff\xfe", `"}]}`},
		"unknown":        {`{"content":[{"text":"a"}],"other":[`, `{"a":{}},`, `{}]}`},
		"json_as_text":   {`{"content":[{"text":"[`, `{},{},  `, `{}]"}]}`},
	}
}

// An answer of 8 MB costs the daemon at most ten times its size where the guest runs in
// this process, and at most five times where its worker decodes it.
func TestAnswersThatCostMuch(t *testing.T) {
	for isolation, most := range map[host.Isolation]uint64{host.OwnProcess: 5, host.Inline: 10} {
		t.Run(string(isolation), func(t *testing.T) {
			inlineToo(t, isolation)
			costlyAnswers(t, isolation, most)
		})
	}
}

func costlyAnswers(t *testing.T, isolation host.Isolation, most uint64) {
	const size = 8 << 20
	dir := t.TempDir()
	bombs := answerBombs()
	for name, bomb := range bombs {
		dropIn(t, dir, dropped{name: name, wasm: bomb.guest(size), memory: "64MiB", timeout: time.Minute, more: "format = \"mcp\""})
	}
	h := open(t, dir, isolation, nil)
	for name := range bombs {
		var r tool.Result
		ask(t, h, tool.En, name, "{}") // loads the module
		peak := heapPeak(func() { r, _ = ask(t, h, tool.En, name, "{}") })
		t.Logf("%-15s %5d MiB %v, %d parts, %d sources", name, peak>>20, r.Err, len(r.Parts), len(r.Sources))
		if peak > most*size {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if r.Err != nil {
			readable(t, name, r.Err)
		}
	}
}

// Arguments of 16 MiB, the most that a call accepts, cost at most ten times as much.
func TestArgumentsThatCostMuch(t *testing.T) {
	const size = 15 << 20
	dir := t.TempDir()
	dropIn(t, dir, honest)
	h := open(t, dir, host.OwnProcess, nil)
	ask(t, h, tool.En, "honest", "{}")
	for name, unit := range map[string]string{"numbers": "0,", "lists": "[],", "objects": "{},", "keys": `{"a":0},`, "texts": `"",`} {
		args := `{"a":[` + strings.Repeat(unit, size/len(unit)) + `0]}`
		var r tool.Result
		peak := heapPeak(func() { r, _ = ask(t, h, tool.En, "honest", args) })
		t.Logf("%-10s %5d MiB %v", name, peak>>20, r.Err)
		if peak > 10*size {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if r.Err != nil {
			readable(t, name, r.Err)
		}
	}
}

// heapPeak returns by how many bytes the heap was larger at most during f.
func heapPeak(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // close to what is in use
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	before := read()
	most := before
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			most = max(most, read())
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	f()
	close(ended)
	watcher.Wait()
	return most - before
}
