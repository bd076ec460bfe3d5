package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/internal/testtime"
)

// Scripts of a daemon that is killed, and of one that is frozen for long, come to their end
// on other daemons. None of their effects happens twice, and none that they have read of is
// lost.
func TestScripts(t *testing.T) {
	if number("WEIR_CLUSTER_DAEMONS", 1) < 2 {
		t.Skip("make test-cluster runs it")
	}
	w := newWorld(t, 3)
	const scripts, calls = 12, 40
	source := func(n int) string {
		return fmt.Sprintf(`const out = []; for (let i = 0; i < %d; i++) { const id = "s%d-" + i;
try { await tools.effects__once({id}); out.push(id) } catch (e) { if (e.code != "outcome_unknown") throw e } } return out.join(" ")`, calls, n)
	}
	var clients sync.WaitGroup
	for n := range scripts {
		body, err := json.Marshal(api.ScriptBody{Source: source(n), Allow: true})
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() { _, _, _ = w.daemons[n%3].do(t.Context(), "POST", "/api/scripts", string(body)) }) // the daemon may be killed
	}
	testtime.Until(t, "the scripts begin", func() bool { return w.effects.happened("s0-5")+w.effects.happened("s1-5") >= 2 })
	w.daemons[0].kill()
	w.daemons[1].signal(syscall.SIGSTOP)
	takes(6 * time.Second)
	w.daemons[1].signal(syscall.SIGCONT)
	w.daemons[0].start()
	read := 0
	testtime.Until(t, "the scripts end", func() bool {
		var list api.ScriptList
		if _, text, err := w.daemons[2].do(t.Context(), "GET", "/api/scripts", ""); err != nil || json.Unmarshal(text, &list) != nil {
			t.Fatalf("%s %v", text, err)
		}
		ended := 0
		for _, s := range list.Scripts {
			if s.State != "running" {
				ended++
			}
		}
		return ended == scripts
	})
	clients.Wait()
	var list api.ScriptList
	_, text, err := w.daemons[1].do(t.Context(), "GET", "/api/scripts", "")
	if err != nil || json.Unmarshal(text, &list) != nil {
		t.Fatal(err)
	}
	for _, each := range list.Scripts {
		var s api.ScriptRun
		_, text, err := w.daemons[1].do(t.Context(), "GET", "/api/scripts/"+each.ID, "")
		if err != nil || json.Unmarshal(text, &s) != nil || s.State != "done" || s.Result == nil {
			t.Errorf("%s %v", clip(string(text)), err)
			continue
		}
		for _, id := range strings.Fields(s.Result.Text) {
			if read++; w.effects.happened(id) != 1 {
				t.Errorf("%s happened %d times, and the script has its result", id, w.effects.happened(id))
			}
		}
	}
	if least := scripts*calls - 2*scripts; read < least { // of each script, one call at each of two faults may be unknown
		t.Errorf("%d results were read, and at least %d must have been", read, least)
	}
	w.effects.mu.Lock()
	defer w.effects.mu.Unlock()
	for id, n := range w.effects.seen {
		if n > 1 {
			t.Errorf("the effect of %s happened %d times", id, n)
		}
	}
	t.Logf("%d scripts, %d results read of %d calls, %d effects", scripts, read, scripts*calls, len(w.effects.seen))
}
