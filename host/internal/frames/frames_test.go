//go:build linux

package frames

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// Kinds and limits of the tests.
const (
	kindLog Kind = iota + 1
	kindResult

	maxMeta = 1 << 20
	maxText = 128 << 10
)

// anything are limits that allow all frames of the tests.
var anything = Limits{kindLog: {maxMeta, 0}, kindResult: {maxMeta, 16 << 20}}

// Frames of any length arrive in order and undamaged, however their bytes are divided.
func TestFramesArrive(t *testing.T) {
	length := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(readAhead-20, readAhead+20), rapid.IntRange(maxKept-20, 2*maxKept))
	rapid.Check(t, func(t *rapid.T) {
		var pipe bytes.Buffer
		w, sent := NewWriter(&pipe), [][]byte{}
		for n := range rapid.IntRange(1, 6).Draw(t, "frames") {
			data := bytes.Repeat([]byte{byte(n) | 1}, length.Draw(t, "length"))
			if err := w.Write(kindResult, packed("m"), data); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, data)
		}
		from := io.Reader(&pipe)
		if rapid.Bool().Draw(t, "byte by byte") {
			from = iotest.OneByteReader(from)
		}
		r := NewReader(from)
		for _, data := range sent {
			f, err := r.Read(&anything, make([]byte, 100))
			if err != nil || f.Kind != kindResult || string(f.Meta) != "m" || !bytes.Equal(f.Data, data) {
				t.Fatalf("%d bytes came as %d, %v", len(data), len(f.Data), err)
			}
		}
		if _, err := r.Read(&anything, nil); err != io.EOF {
			t.Fatalf("after the last frame came %v", err)
		}
	})
}

// Lengths that are not allowed are refused before memory is allocated for them, and a
// frame that ends early is no frame.
func TestWhatIsNoFrame(t *testing.T) {
	var whole bytes.Buffer
	if err := NewWriter(&whole).Write(kindResult, packed("meta"), []byte("data")); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < whole.Len(); n++ {
		if _, err := NewReader(bytes.NewReader(whole.Bytes()[:n])).Read(&anything, nil); err != io.ErrUnexpectedEOF && err != io.EOF {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	for what, text := range map[string][]byte{
		"a small part that is too long": {byte(kindLog), 255, 255, 255, 255, 0, 0, 0, 0},
		"data that is too long":         {byte(kindResult), 1, 0, 0, 0, 255, 255, 255, 255, 'm'},
		"no small part":                 {byte(kindLog), 0, 0, 0, 0, 0, 0, 0, 0},
		"a kind that is not expected":   {9, 1, 0, 0, 0, 0, 0, 0, 0, 'm'},
		"a kind that does not exist":    {255, 1, 0, 0, 0, 0, 0, 0, 0, 'm'},
	} {
		if _, err := NewReader(bytes.NewReader(text)).Read(&anything, nil); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Long frames go through a pipe that is shorter; each side learns of the other's end.
func TestLink(t *testing.T) {
	ours, theirs, err := NewLink()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	in, out := theirs[0], theirs[1]
	const frames = 2000
	seed := [32]byte{1}
	fault := make(chan error, 1)
	go func() {
		w, lengths := NewWriter(ours.In), rand.New(rand.NewChaCha8(seed))
		for range frames {
			if err := w.Write(kindResult, packed("m"), make([]byte, lengths.IntN(2000)*lengths.IntN(100))); err != nil {
				fault <- err
				return
			}
		}
		fault <- nil
	}()
	r, lengths := NewReader(in), rand.New(rand.NewChaCha8(seed))
	for n := range frames {
		f, err := r.Read(&anything, nil)
		if want := lengths.IntN(2000) * lengths.IntN(100); err != nil || len(f.Data) != want {
			t.Fatalf("frame %d came with %d of %d bytes, %v", n, len(f.Data), want, err)
		}
	}
	if err := <-fault; err != nil {
		t.Error(err)
	}
	for _, f := range []*os.File{in, out} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if NewWriter(ours.In).Write(kindLog, packed("m"), nil) == nil {
		t.Error("a frame went to a child that has ended")
	}
	if _, err := NewReader(ours.Out).Read(&anything, nil); err != io.EOF {
		t.Errorf("from a child that has ended came %v", err)
	}
}

// FuzzRead reads arbitrary bytes of a child: every frame obeys the limits.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	_ = NewWriter(&b).Write(kindResult, packed("m"), []byte("output"))
	f.Add(b.Bytes())
	f.Add([]byte{byte(kindResult), 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader(bytes.NewReader(text))
		allowed := Limits{kindLog: {maxText, 0}, kindResult: {maxText, 1000}}
		for {
			got, err := r.Read(&allowed, nil)
			if err != nil {
				return
			}
			if most := allowed[got.Kind]; most.Meta == 0 || len(got.Meta) == 0 || len(got.Meta) > most.Meta || len(got.Data) > most.Data {
				t.Fatalf("kind %d with %d and %d bytes came through", got.Kind, len(got.Meta), len(got.Data))
			}
		}
	})
}
