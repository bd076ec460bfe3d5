package cluster

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/postgres"
	"github.com/weirhost/weir/internal/testtime"
)

// number returns the number that a variable has.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// TestCluster asks while everything fails. The variables are of the long form.
func TestCluster(t *testing.T) {
	daemons, questions := number("WEIR_CLUSTER_DAEMONS", 1), number("WEIR_CLUSTER_TURNS", 40)
	w := newWorld(t, daemons)
	asked := make(chan []*turn, 1)
	go func() { asked <- w.askAll(t.Context(), 4*daemons, func(n int) bool { return n > questions }) }()
	turns := w.failUntil(asked)
	w.check(turns)
	t.Logf("%d turns by %d daemons", len(turns), daemons)
}

// A fault is what happens to one daemon, or to the server.
type fault struct {
	name string
	// taken says that other daemons must take the turns over.
	taken bool
	do    func(w *world, d *daemon)
	// lasts is how long it is until undo; undo may be nil.
	lasts time.Duration
	undo  func(d *daemon)
}

var faults = []fault{
	{name: "tables grow", do: func(w *world, _ *daemon) {
		if err := w.grow(); err != nil {
			w.Error(err)
		}
	}},
	{name: "server restarts", do: func(w *world, _ *daemon) {
		if err := w.pg.Restart(); err != nil {
			w.Error(err)
		}
	}},
	{name: "killed", taken: true, do: func(_ *world, d *daemon) { d.fail(); d.kill() },
		lasts: time.Second, undo: func(d *daemon) { d.start() }},
	{name: "connections cut", do: func(_ *world, d *daemon) { d.proxy.setCut(true) },
		lasts: 500 * time.Millisecond, undo: func(d *daemon) { d.proxy.setCut(false) }},
	{name: "frozen", taken: true, do: func(_ *world, d *daemon) { d.fail(); d.signal(syscall.SIGSTOP) },
		lasts: 10 * time.Second, undo: func(d *daemon) { d.signal(syscall.SIGCONT); d.up() }},
	{name: "connections slow", do: func(_ *world, d *daemon) { d.proxy.delay.Store(int64(50 * time.Millisecond)) },
		lasts: 2 * time.Second, undo: func(d *daemon) { d.proxy.delay.Store(0) }},
}

// failUntil lets one fault after the other happen until the turns are there.
func (w *world) failUntil(asked <-chan []*turn) []*turn {
	for i := 0; ; i++ {
		select {
		case turns := <-asked:
			return turns
		case <-time.After(time.Duration(500+rand.IntN(1000)) * time.Millisecond):
		}
		f, d := faults[i%len(faults)], w.daemons[rand.IntN(len(w.daemons))]
		if f.taken && len(w.daemons) == 1 {
			continue
		}
		w.Logf("%s %s %s", time.Now().Format("05.000"), f.name, d.addr)
		f.do(w, d)
		if f.undo != nil {
			takes(f.lasts)
			f.undo(d)
		}
	}
}

// grow does to the tables what the migrations of a newer weir may do while this one runs:
// columns and tables come (migrations_test.go).
func (w *world) grow() error {
	db, err := sql.Open("pgx", w.pg.URL) // pgtest has the driver
	if err != nil {
		return err
	}
	defer db.Close()
	grow := `DO $$ DECLARE t text; BEGIN
		FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
			EXECUTE format('ALTER TABLE %I ADD COLUMN IF NOT EXISTS next INTEGER NOT NULL DEFAULT 0', t);
		END LOOP;
		CREATE TABLE IF NOT EXISTS next (id TEXT PRIMARY KEY);
	END $$`
	for {
		if _, err := db.ExecContext(w.Context(), grow); !postgres.Deadlock(err) { // as weir does
			return err
		}
	}
}

// check holds what the clients saw against what happened and against what is stored.
func (w *world) check(turns []*turn) {
	var answered, failed, unbegun, unknown, results int
	problems := map[string]int{}
	var away []time.Duration
	for _, t := range turns {
		switch {
		case t.last == "":
			unbegun++
			problems[clip(t.said)]++
			continue
		case t.end == nil:
			w.Errorf("%s: the stream did not come to its end after event %d: %s", t.id, t.events, t.said)
			continue
		case t.problem != nil:
			failed++
			problems[t.problem.Code]++
		default:
			answered++
			w.checkAnswer(t)
		}
		if t.away > 5*time.Second {
			w.Logf("%s: the next event came %v after %s", t.id, t.away, t.lostAt.Format("05.000"))
		}
		if t.away > 0 {
			away = append(away, t.away)
		}
		for _, r := range t.results {
			switch {
			case r.Error != nil && r.Error.Code == "outcome_unknown":
				unknown++
			case r.KeptUUID != "":
				results++
				if status, text := w.get("/api/archives/" + r.KeptUUID); status != http.StatusOK || !strings.Contains(text, "effect of "+t.id+"-") {
					w.Errorf("%s: the result %s is lost: %d %s", t.id, r.KeptUUID, status, clip(text))
				}
			}
		}
	}
	w.effects.mu.Lock()
	defer w.effects.mu.Unlock()
	again := 0
	for id, n := range w.effects.seen {
		if n > 1 && strings.HasSuffix(id, fmt.Sprint("-", callsOfTurn-1)) {
			again++
		} else if n > 1 {
			w.Errorf("the effect of %s happened %d times", id, n)
		}
	}
	w.Logf("%d answered, %d failed with an error, %d did not begin %v; %d effects, %d results stored, %d outcomes unknown, %d idempotent calls run again", answered, failed, unbegun, problems, len(w.effects.seen), results, unknown, again)
	if slices.Sort(away); len(away) > 0 {
		w.Logf("takeovers seen by clients: %d, p50 %v, p99 %v, longest %v", len(away), away[len(away)/2], away[len(away)*99/100], away[len(away)-1])
	}
	if answered < len(turns)/2 {
		w.Errorf("only %d of %d turns were answered: this shows little", answered, len(turns))
	}
}

// checkAnswer looks at a turn that ended well.
func (w *world) checkAnswer(t *turn) {
	if t.end.Answer != answerOf(t.id) {
		w.Errorf("%s: the answer is %q", t.id, t.end.Answer)
	}
	if len(t.results) != callsOfTurn {
		w.Errorf("%s: %d results", t.id, len(t.results))
	}
	for i, r := range t.results {
		if id := fmt.Sprint(t.id, "-", i); w.effects.happened(id) == 0 && r.OK {
			w.Errorf("%s: a result without an effect", id)
		}
	}
	status, text := w.get("/api/conversations/" + t.conversation)
	var c api.ShownConversation
	if err := json.Unmarshal([]byte(text), &c); err != nil || status != http.StatusOK {
		w.Errorf("%s: %d %v", t.id, status, err)
		return
	}
	asked, answered := 0, 0
	for _, m := range c.Messages {
		if strings.Contains(m.Text, "question "+t.id+".") {
			asked++
		}
		if m.Text == answerOf(t.id) {
			answered++
		}
	}
	if asked != 1 || answered != 1 {
		w.Errorf("%s is stored %d times, its answer %d times; refused %d times", t.id, asked, answered, t.again)
	}
}

// get asks until a daemon answers.
func (w *world) get(path string) (status int, text string) {
	testtime.Comes(func() bool {
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		s, b, err := w.any().do(ctx, "GET", path, "")
		if status, text = s, string(b); err == nil && status < http.StatusInternalServerError {
			return true
		}
		text = cmp.Or(text, fmt.Sprint(err))
		return false
	})
	return status, text
}

func clip(s string) string { return s[:min(len(s), 160)] }
