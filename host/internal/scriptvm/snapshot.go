package scriptvm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"
)

// ErrSnapshot says that a snapshot is not of this engine, or has been changed.
var ErrSnapshot = errors.New("the state of the script cannot be read")

// chunk is the unit that a snapshot compares and keeps, in bytes.
const chunk = 4 << 10

// Snapshot returns the state of a script that waits: what of its memory differs from the
// state in which every script starts. It begins with the digests of the engine and of the
// rest, so that Resume refuses one of another engine and one that has been changed.
func (s *Script) Snapshot() ([]byte, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	memory, ok := s.module.Memory().Read(0, s.module.Memory().Size())
	if !ok {
		return nil, ErrBroken
	}
	image := s.runtime.image
	var changes []int // numbers of the chunks that differ
	for i := 0; i*chunk < len(memory); i++ {
		if at, end := i*chunk, (i+1)*chunk; at >= len(image) || !bytes.Equal(memory[at:end], image[at:end]) {
			changes = append(changes, i)
		}
	}
	marks := (len(memory)/chunk + 7) / 8
	plain := make([]byte, marks, marks+len(changes)*chunk)
	for _, i := range changes {
		plain[i/8] |= 1 << (i % 8)
		plain = append(plain, memory[i*chunk:(i+1)*chunk]...)
	}
	refused, err := json.Marshal(s.refused)
	if err != nil {
		return nil, err
	}
	plain = append(plain, refused...)
	out := make([]byte, head+fixed+s2.MaxEncodedLen(len(plain)))
	body := out[head:]
	binary.LittleEndian.PutUint32(body, uint32(len(memory)/chunk))
	binary.LittleEndian.PutUint32(body[4:], uint32(s.lines))
	binary.LittleEndian.PutUint64(body[8:], uint64(s.left))
	body = body[:fixed+len(s2.Encode(body[fixed:], plain))]
	sum := sha256.Sum256(body)
	copy(out, s.runtime.digest[:])
	copy(out[sha256.Size:], sum[:])
	return slices.Clone(out[:head+len(body)]), nil
}

// Resume returns a script as it was when the snapshot was made. Errors are ErrSnapshot and
// those of ctx.
func (r *Runtime) Resume(ctx context.Context, snapshot []byte) (*Script, error) {
	size, changes, refused, err := r.unpack(snapshot)
	if err != nil {
		return nil, err
	}
	s, err := r.fresh(ctx)
	if err != nil {
		return nil, err
	}
	body := snapshot[head:]
	s.refused = refused
	s.lines, s.left = int(binary.LittleEndian.Uint32(body[4:])), time.Duration(binary.LittleEndian.Uint64(body[8:]))
	if err := s.change(size, changes); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// A piece is a part of a memory that differs from the image.
type piece struct {
	at      uint32
	content []byte
}

// change makes the memory, which holds the image, as large as it was, and puts pieces into
// it.
func (s *Script) change(size int, pieces []piece) error {
	m := s.module.Memory()
	if missing := (size - int(m.Size())) / pageSize; missing > 0 {
		if _, ok := m.Grow(uint32(missing)); !ok {
			return ErrBroken
		}
	}
	for _, p := range pieces {
		if !m.Write(p.at, p.content) {
			return ErrBroken
		}
	}
	return nil
}

// RuntimeOf returns the Digest of the Runtime that a snapshot needs; empty: it is no
// snapshot.
func RuntimeOf(snapshot []byte) string {
	if len(snapshot) < head+fixed {
		return ""
	}
	return hex.EncodeToString(snapshot[:sha256.Size])
}

// Verify returns ErrSnapshot for a snapshot that has been changed, or is none.
func Verify(snapshot []byte) error {
	if len(snapshot) < head+fixed {
		return fmt.Errorf("%w: it is none", ErrSnapshot)
	}
	if sum := sha256.Sum256(snapshot[head:]); !bytes.Equal(sum[:], snapshot[sha256.Size:head]) {
		return fmt.Errorf("%w: it has been changed", ErrSnapshot)
	}
	return nil
}

// A snapshot begins with two digests, and the rest of it with three numbers: pages, lines
// of the source, time left.
const head, fixed = 2 * sha256.Size, 4 + 4 + 8

// unpack returns the size of the memory that a snapshot describes, and what of it differs
// from the image, with the promises that were rejected.
func (r *Runtime) unpack(snapshot []byte) (size int, changes []piece, refused []rejection, err error) {
	if len(snapshot) < head+fixed || !bytes.Equal(snapshot[:sha256.Size], r.digest[:]) {
		return 0, nil, nil, fmt.Errorf("%w: it belongs to another engine", ErrSnapshot)
	}
	if err := Verify(snapshot); err != nil {
		return 0, nil, nil, err
	}
	body := snapshot[head:]
	chunks := int(binary.LittleEndian.Uint32(body))
	if n, err := s2.DecodedLen(body[fixed:]); err != nil || chunks*chunk > r.options.Memory || n > r.options.Memory+chunks+maxRefused {
		return 0, nil, nil, fmt.Errorf("%w: it is larger than the memory of a script", ErrSnapshot)
	}
	plain, err := s2.Decode(nil, body[fixed:])
	if err != nil || len(plain) < (chunks+7)/8 {
		return 0, nil, nil, fmt.Errorf("%w: %v", ErrSnapshot, err)
	}
	changed, content := plain[:(chunks+7)/8], plain[(chunks+7)/8:]
	for i := range chunks {
		if changed[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if len(content) < chunk {
			return 0, nil, nil, fmt.Errorf("%w: it is cut short", ErrSnapshot)
		}
		changes = append(changes, piece{uint32(i * chunk), content[:chunk]})
		content = content[chunk:]
	}
	if len(content) == 0 { // of a weir that did not store rejected promises
		return chunks * chunk, changes, nil, nil
	}
	if err := json.Unmarshal(content, &refused); err != nil {
		return 0, nil, nil, fmt.Errorf("%w: %v", ErrSnapshot, err)
	}
	return chunks * chunk, changes, refused, nil
}

// restore makes the module's memory what a state was.
func (s *Script) restore(memory []byte) error {
	m := s.module.Memory()
	if missing := (len(memory) - int(m.Size())) / pageSize; missing > 0 {
		if _, ok := m.Grow(uint32(missing)); !ok {
			return ErrBroken
		}
	}
	if !m.Write(0, memory) {
		return ErrBroken
	}
	return nil
}
