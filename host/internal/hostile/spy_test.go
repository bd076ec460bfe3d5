package hostile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// The mark of a spy, eight bytes.
const spiesMark = "CANARY12"

// spy is a guest that looks for what an earlier call may have left, then leaves a mark
// in every place it knows, and ends in one of several ways.
func spy() dropped {
	mark := int64(0)
	for i := range 8 {
		mark |= int64(spiesMark[i]) << (8 * i)
	}
	found := op(0x84, w.LocalSet, 1) // or, into local 1
	look := do(
		long(0), set(1),
		get(1), num(1024), memory(0x29, 0), found, // memory
		get(1), num(100_000), memory(0x29, 0), found,
		get(1), op(opGlobalGet, 0), found,
		get(1), text("the spy"), get(0), call(fVarGet), found, // a variable
		get(1), num(5), op(0x25, 0, 0xd1, opEqz32, opExtend), found, // the table
		num(0), num(4), call(fEnviron), drop, get(1), num(0), memory(opLoad32, 0), op(opExtend), found, // the environment
		// All of the first page of the kernel, where input and output lie.
		long(64<<10), call(fAlloc), drop, times(65528, get(1), get(3), call(fLoad64), long(mark), op(opEq64, opExtend), found),
	)
	leave := do(
		num(1024), long(mark), memory(opStore64, 0), num(100_000), long(mark), memory(opStore64, 0),
		long(mark), op(opGlobalSet, 0),
		num(5), op(0xd2, byte(fImports), 0x26, 0),
		text("the spy"), get(0), set(2), text(spiesMark), get(2), get(0), call(fVarSet),
	)
	tell := do(get(1), op(0x50, w.If, w.Empty), says("clean"), op(w.Else), says("DIRTY"), op(w.End), answer)
	return dropped{name: "spy", timeout: time.Minute, tools: []string{"run", "trap", "spin", "die", "full", "self"}, wasm: shape{table: 16, exports: map[string]part{
		"run":  do(look, leave, tell),
		"trap": do(leave, trap),
		"spin": do(leave, forever()),
		"die":  do(leave, num(0), call(fExit), answer),
		"full": do(leave, num(65000), op(w.MemoryGrow, 0), drop, trap),
		"self": do(leave, look, tell), // what it finds when there is something
	}}.bytes()}
}

// The spy finds nothing, however the calls before it ended, one after the other and
// concurrently, with instances created on demand and with spares.
func TestStateSpy(t *testing.T) {
	s := spy()
	for _, isolation := range []host.Isolation{host.OwnProcess, host.Inline} {
		for _, spares := range []int{0, 2} {
			t.Run(fmt.Sprint(isolation, "-", spares), func(t *testing.T) {
				dir := t.TempDir()
				dropIn(t, dir, s)
				h := open(t, dir, isolation, func(c *host.Config) {
					c.Sandbox.Spares = spares
					c.Tools = map[string]host.ToolConfig{"spy_spin": {Limits: tool.Limits{Timeout: time.Second}}}
				})
				marked := fmt.Sprintf(`{"left":%q}`, spiesMark+spiesMark)
				if r, _ := ask(t, h, tool.En, "spy_self", marked); r.Err != nil || r.Shown.Text != "DIRTY" {
					t.Fatalf("the spy does not see its own mark: %q, %v", r.Shown.Text, r.Err)
				}
				rounds := 12
				if thorough {
					rounds = 500
				}
				ends := []string{"trap", "die", "full", "self"}
				seed := uint64(1)
				if thorough {
					seed = rand.Uint64()
				}
				dice := rand.New(rand.NewPCG(seed, 1))
				steps := []string{"spin", "run"}
				for range rounds {
					steps = append(steps, ends[dice.IntN(len(ends))], "run", "run")
				}
				if thorough {
					steps = slices.Concat(steps, []string{"spin", "run", "spin", "run"})
				}
				step := func(name string) {
					args := `{}`
					if name != "run" {
						args = marked
					}
					r, _ := ask(t, h, tool.En, "spy_"+name, args)
					switch {
					case name == "run" && (r.Err != nil || r.Shown.Text != "clean"):
						t.Errorf("seed %d: the spy found something: %q, %v", seed, r.Shown.Text, r.Err)
					case name != "run" && name != "self" && r.Err == nil:
						t.Errorf("%s ended well", name)
					}
				}
				for _, name := range steps {
					step(name)
				}
				together(steps[2:], 4, step)
				if thorough {
					t.Logf("| state spy, %s, %d spares | %d calls, nothing found |", isolation, spares, 2*len(steps))
				}
			})
		}
	}
}
