package pipe

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ends returns both ends of a new pipe.
func ends(t *testing.T) (from, to *End) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, to = New(r), New(w)
	if (from.raw != nil) != quick || (to.raw != nil) != quick {
		t.Error("a pipe is not taken for one")
	}
	t.Cleanup(func() { _ = errors.Join(from.Close(), to.Close()) })
	return from, to
}

// More data than the pipe holds arrives, in pieces of any size.
func TestDataArrivesInOrder(t *testing.T) {
	from, to := ends(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	all := make([]byte, 4<<20)
	for i := range all {
		all[i] = byte(rnd.Uint32())
	}
	go func() {
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(200_000))
			if got, err := to.Write(rest[:n]); err != nil || got != n {
				t.Errorf("wrote %d of %d: %v", got, n, err)
			}
			rest = rest[n:]
		}
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	}()
	var got bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{from}, make([]byte, 70_000)); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got.Bytes(), all) {
		t.Errorf("read %d bytes, which are not the %d that were written", got.Len(), len(all))
	}
	if n, err := from.Read(nil); n != 0 || err != nil {
		t.Errorf("reading nothing: %d, %v", n, err)
	}
	if n, err := to.Write(nil); n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("writing nothing to what is closed: %d, %v", n, err)
	}
}

// Concurrent writes are not mixed.
func TestConcurrentWritesAreNotMixed(t *testing.T) {
	from, to := ends(t)
	const writers, pieces, size = 8, 200, 1000
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for range pieces {
				if _, err := to.Write(bytes.Repeat([]byte{byte('a' + n)}, size)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { all.Wait(); _ = to.Close() }()
	piece := make([]byte, size)
	for range writers * pieces {
		if _, err := io.ReadFull(from, piece); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(piece, piece[:1]) != size {
			t.Fatalf("a torn piece: %q", piece)
		}
	}
}

// The errors are those of a file: closed, deadline exceeded, no reader.
func TestErrors(t *testing.T) {
	waits := func(t *testing.T, e *End, what func() error, end func() error, want error) {
		t.Helper()
		got := make(chan error, 1)
		go func() { got <- what() }()
		if err := end(); err != nil {
			t.Error(err)
		}
		if err := <-got; !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", e.Name(), err, want)
		}
	}
	read := func(e *End) func() error {
		return func() error { _, err := e.Read(make([]byte, 10)); return err }
	}
	fill := func(e *End) func() error {
		return func() error { _, err := e.Write(make([]byte, 8<<20)); return err }
	}
	for name, c := range map[string]struct {
		act  func(from, to *End) (who *End, what func() error)
		end  func(from, to *End) error
		want error
	}{
		"a reader's pipe is closed": {func(from, _ *End) (*End, func() error) { return from, read(from) }, func(from, _ *End) error { return from.Close() }, os.ErrClosed},
		"a reader's deadline":       {func(from, _ *End) (*End, func() error) { return from, read(from) }, func(from, _ *End) error { return from.SetDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		"nobody writes any more":    {func(from, _ *End) (*End, func() error) { return from, read(from) }, func(_, to *End) error { return to.Close() }, io.EOF},
		"a writer's pipe is closed": {func(_, to *End) (*End, func() error) { return to, fill(to) }, func(_, to *End) error { return to.Close() }, os.ErrClosed},
		"a writer's deadline":       {func(_, to *End) (*End, func() error) { return to, fill(to) }, func(_, to *End) error { return to.SetDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		"nobody reads any more":     {func(_, to *End) (*End, func() error) { return to, fill(to) }, func(from, _ *End) error { return from.Close() }, syscall.EPIPE},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := ends(t)
			who, what := c.act(from, to)
			waits(t, who, what, func() error { return c.end(from, to) }, c.want)
		})
	}
}

// A file that is no pipe is used by its own methods.
func TestOtherFilesUseTheirOwnMethods(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	e := New(f)
	defer e.Close()
	if e.raw != nil {
		t.Error("it is taken for a pipe")
	}
	if _, err := e.Write([]byte("text")); err != nil {
		t.Error(err)
	}
	if _, err := e.Seek(0, io.SeekStart); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(e); err != nil || string(text) != "text" {
		t.Errorf("got %q, %v", text, err)
	}
}
