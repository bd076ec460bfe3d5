package cluster

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Daemons are replaced one after the other while they answer: each question gets its
// answer, and no effect happens twice. With WEIR_CLUSTER_PROGRAMS=old:new they are of two
// versions, with old:new:old they also go back.
func TestUpdate(t *testing.T) {
	daemons := number("WEIR_CLUSTER_DAEMONS", 1)
	if daemons < 2 {
		t.Skip("make test-cluster runs it")
	}
	programs := versions(t)
	w := newWorld(t, daemons, programs[0])
	var replaced atomic.Bool
	asked := make(chan []*turn, 1)
	go func() {
		asked <- w.askAll(t.Context(), 4*len(w.daemons), func(int) bool { return replaced.Load() })
	}()
	if len(programs) == 1 {
		programs = append(programs, programs[0])
	}
	for _, program := range programs[1:] {
		for _, d := range w.daemons {
			takes(time.Second)
			d.replace(program)
		}
		t.Logf("%s all daemons are %s", time.Now().Format("05.000"), program)
	}
	takes(time.Second)
	replaced.Store(true)
	turns := <-asked
	w.check(turns)
	for _, turn := range turns {
		if turn.end == nil || turn.problem != nil {
			t.Errorf("%s: %+v %s", turn.id, turn.problem, turn.said)
		}
	}
}

// replace stops a daemon as an update does, and starts it with another program.
func (d *daemon) replace(program string) {
	d.Helper()
	d.signal(syscall.SIGTERM)
	takes(500 * time.Millisecond) // until a load balancer looks
	d.leaving.Store(true)
	if err := d.process.Wait(); err != nil {
		d.Errorf("%s: %v", d.program, err)
	}
	d.program = program
	d.start()
	d.leaving.Store(false)
}
