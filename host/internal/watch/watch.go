package watch

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config says what to watch, and how. Only Folders are needed.
type Config struct {
	// Folders are plugin folders. They may be missing, vanish and come back.
	Folders []string
	// More lists files beyond those that lie in the folders' usual places; nil:
	// none. It is called by the watcher's own goroutine and by callers of Still.
	More func() []string
	// Quiet is how long files must be unchanged to be at rest; 0: 300 ms.
	Quiet time.Duration
	// Longest is the time after which files that change without pause are reported
	// anyway; 0: 5 s.
	Longest time.Duration
	// Poll makes a clock the only reason to look; 0: events where the system has
	// them, and a look every 2 s where it has none.
	Poll time.Duration
	// Logger receives a warning if the system sends no events; nil discards it.
	Logger hclog.Logger
}

// The times a Config leaves open.
const (
	defaultQuiet   = 300 * time.Millisecond
	defaultLongest = 5 * time.Second
	defaultPoll    = 2 * time.Second
	// safety is how often is looked where events do come: some are lost by
	// mounts of other machines and by links in folders above.
	safety = 30 * time.Second
)

// A Watcher watches files. Run and Still may be used at once.
type Watcher struct {
	cfg   Config
	poke  chan struct{} // holds one
	slow  time.Duration // between scans where the system sends no events
	ready chan struct{}

	mu    sync.Mutex
	seen  look
	since map[string]time.Time // when a path was seen changed last
	why   string               // there are no events, as it was logged last
}

// New returns a Watcher that does nothing until it is run.
func New(cfg Config) *Watcher {
	if cfg.Quiet <= 0 {
		cfg.Quiet = defaultQuiet
	}
	if cfg.Longest <= 0 {
		cfg.Longest = defaultLongest
	}
	cfg.Logger = cmp.Or(cfg.Logger, hclog.NewNullLogger())
	cfg.Folders = append([]string(nil), cfg.Folders...)
	for i, f := range cfg.Folders {
		cfg.Folders[i] = filepath.Clean(f)
	}
	return &Watcher{cfg: cfg, slow: defaultPoll, poke: make(chan struct{}, 1), ready: make(chan struct{}), since: map[string]time.Time{}}
}

// Ready is closed when every later change will be seen.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Quiet is how long files must be unchanged to be at rest.
func (w *Watcher) Quiet() time.Duration { return w.cfg.Quiet }

// Run watches until ctx ends, whose error it returns. It calls settled from one
// goroutine: once at the beginning, and then whenever files have changed and
// come to rest, or have not come to rest for long. settled answers after how
// long it wants to be called again although nothing changes; 0: not. Run may be
// called once.
func (w *Watcher) Run(ctx context.Context, settled func(context.Context) (again time.Duration)) error {
	var n *notifier
	var err error
	if w.cfg.Poll <= 0 {
		if n, err = newNotifier(w.poke); err != nil {
			w.tell(err)
		}
		defer n.close()
	}
	p := pace{quiet: w.cfg.Quiet, longest: w.cfg.Longest}
	idle, changed := w.look(n)
	close(w.ready)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if p.looked(time.Now(), changed) {
			again := settled(ctx)
			p.again(time.Now(), again)
		}
		for looked := false; !looked; {
			timer.Reset(p.next(time.Now(), idle))
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-w.poke:
				p.poked = true
			case <-timer.C:
				looked = true
			}
		}
		idle, changed = w.look(n)
	}
}

// look looks at everything once, says whether something is different from the
// look before, and after how long to look again when nothing happens.
func (w *Watcher) look(n *notifier) (idle time.Duration, changed bool) {
	idle = safety
	next := w.all()
	added, err := n.watch(next.dirs())
	if err != nil {
		w.tell(err)
		idle = w.slow
	}
	if added { // what changed in between is seen by looking once more
		next = w.all()
	}
	for _, f := range w.cfg.Folders {
		if _, ok := next[f]; !ok || remote(f) {
			idle = w.slow
		}
	}
	if n == nil {
		idle = w.slow
	}
	if w.cfg.Poll > 0 {
		idle = w.cfg.Poll
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen != nil {
		for p := range w.seen.changes(next) {
			w.since[p], changed = now, true
		}
	}
	w.seen = next
	maps.DeleteFunc(w.since, func(p string, at time.Time) bool { return now.Sub(at) > time.Minute })
	return idle, changed
}

// all looks at everything.
func (w *Watcher) all() look {
	l := look{}
	for _, f := range w.cfg.Folders {
		l.folder(f, 2)
	}
	l.more(w.cfg.More, "")
	return l
}

// Still says for how long the file or folder at path, with what is below it,
// has been unchanged, as far as the looks know; 0: it changes now. What has
// long been still is still for a minute or more.
func (w *Watcher) Still(path string) time.Duration {
	path = filepath.Clean(path)
	l := look{}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		l.folder(path, 1)
	} else if err == nil {
		l[path] = st
	}
	l.more(w.cfg.More, path+string(filepath.Separator))
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, seen := w.seen[path]; !seen && w.seen.beyond(path) {
		return time.Hour
	}
	if len(w.seen.below(path).changes(l.below(path))) > 0 {
		return 0
	}
	still := time.Hour
	for p, at := range w.since {
		if _, ok := (look{p: nil}).below(path)[p]; ok {
			still = min(still, now.Sub(at))
		}
	}
	return still
}

// tell logs that there are no events, once for each reason.
func (w *Watcher) tell(err error) {
	w.mu.Lock()
	news := w.why != err.Error()
	w.why = err.Error()
	w.mu.Unlock()
	if !news {
		return
	}
	w.cfg.Logger.Warn("the system reports no changes in some plugin folders; weir scans them every 2 seconds", "why", err, "fix", remedy(err))
}

// Probe returns why changes below the folders cannot be seen as they happen, and a
// fix; both are empty if they can. It watches the folders for a moment.
func Probe(folders []string) (why, fix string) {
	n, err := newNotifier(make(chan struct{}, 1))
	if err != nil {
		return err.Error(), remedy(err)
	}
	defer n.close()
	l := look{}
	for _, f := range folders {
		l.folder(f, 2)
		if remote(f) {
			return f + " is on a file system that does not report changes made elsewhere", remedy(nil)
		}
	}
	if _, err := n.watch(l.dirs()); err != nil {
		return err.Error(), remedy(err)
	}
	return "", ""
}
