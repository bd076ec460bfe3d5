package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"

	"github.com/weirhost/weir/host/internal/signal"
)

// A notifier turns events of the system into pokes. It is used by one
// goroutine; nil watches nothing.
type notifier struct {
	fs      *fsnotify.Watcher
	watched map[string]fs.FileInfo // by real path
	reader  sync.WaitGroup
}

// newNotifier starts one whose events all end as one poke at most. The error
// says why the system gives no events.
func newNotifier(poke chan<- struct{}) (*notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	n := &notifier{fs: w, watched: map[string]fs.FileInfo{}}
	n.reader.Go(func() { n.read(poke) })
	return n, nil
}

// read takes events off as fast as they come. A full poke is poke enough, and
// an error, be it of a queue that ran over, is one more reason to look.
func (n *notifier) read(poke chan<- struct{}) {
	events, errs := n.fs.Events, n.fs.Errors
	for events != nil || errs != nil {
		var ok bool
		select {
		case _, ok = <-events:
			if !ok {
				events = nil
				continue
			}
		case _, ok = <-errs:
			if !ok {
				errs = nil
				continue
			}
		}
		signal.One(poke)
	}
}

// watch sets the watched folders, and returns whether one is new, and the first error.
// Folders that were replaced under the same name are added again.
func (n *notifier) watch(dirs []string) (added bool, failed error) {
	if n == nil {
		return false, nil
	}
	want := map[string]fs.FileInfo{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue // gone since the look: the next one knows
		}
		if st, err := os.Stat(real); err == nil {
			want[real] = st
		}
	}
	for dir, st := range n.watched {
		if now, ok := want[dir]; !ok || !os.SameFile(st, now) {
			_ = n.fs.Remove(dir) // the system has often done so itself
			delete(n.watched, dir)
		}
	}
	alive := map[string]bool{}
	for _, dir := range n.fs.WatchList() {
		alive[dir] = true
	}
	for dir, st := range want {
		if _, ok := n.watched[dir]; ok && alive[dir] {
			continue
		}
		if err := n.fs.Add(dir); err != nil {
			delete(n.watched, dir)
			if failed == nil && !errors.Is(err, fs.ErrNotExist) {
				failed = err
			}
			continue
		}
		n.watched[dir], added = st, true
	}
	return added, failed
}

func (n *notifier) close() {
	if n == nil {
		return
	}
	_ = n.fs.Close()
	n.reader.Wait()
}
