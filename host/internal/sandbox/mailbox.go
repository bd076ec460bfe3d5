package sandbox

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirhost/weir/sdk/tool"
)

// The direct ABI: a mailbox in the guest's own memory, which docs/abi.md
// describes. The guest controls its content, so all of it is checked.
const (
	boxExport     = "weir_mailbox"
	reserveExport = "weir_reserve"

	boxBytes = 48
	boxMagic = 0x72696577
)

// Offsets of a mailbox's fields, in bytes.
const (
	boxMagicAt = 4 * iota
	boxVersionAt
	boxStateAt
	boxInPtrAt
	boxInCapAt
	boxInLenAt
	boxOutPtrAt
	boxOutLenAt
	boxErrPtrAt
	boxErrLenAt
	boxMaxCharsAt
	boxMaxLinesAt
)

// States of a mailbox.
const (
	boxEmpty = iota
	boxAsked
	boxAnswered
	boxFailed
	boxNoMemory
	boxText // answered with the text itself
)

// A boxError says how a guest has broken the rules of its mailbox.
type boxError string

func (e boxError) Error() string { return string(e) }

var (
	errBoxPlace  = boxError("its mailbox is not where it says")
	errBoxRoom   = boxError("its mailbox has less room for the input than it says")
	errBoxState  = boxError("its mailbox has an unknown state")
	errBoxUnread = boxError("it returned without an answer")
	errBoxOutput = boxError("it returned an output that does not exist")
	errBoxWords  = boxError("it returned an error text that does not exist")
)

// A box is a mailbox in a guest's memory.
type box struct{ b []byte }

func (b box) get(at int) uint32    { return binary.LittleEndian.Uint32(b.b[at:]) }
func (b box) set(at int, v uint32) { binary.LittleEndian.PutUint32(b.b[at:], v) }

// openBox checks a guest's mailbox. ok is false for a version that this host does not
// know; the guest is then called without it.
func openBox(memory []byte, at uint32) (ok bool, err error) {
	b, err := boxAt(memory, at)
	if err != nil || b.get(boxMagicAt) != boxMagic {
		return false, errBoxPlace
	}
	version := b.get(boxVersionAt)
	return version == 1 || version == 2, nil // the second may answer with boxText
}

func boxAt(memory []byte, at uint32) (box, error) {
	b, ok := stretch(memory, at, boxBytes)
	if !ok {
		return box{}, errBoxPlace
	}
	return box{b}, nil
}

// stretch returns n bytes of a memory; ok is false if they are not all there.
func stretch(memory []byte, at, n uint32) ([]byte, bool) {
	if end := uint64(at) + uint64(n); end <= uint64(len(memory)) {
		return memory[at:end:end], true
	}
	return nil, false
}

// put writes an input, for which there is room, and the limits of the call.
func (b box) put(memory, input []byte, limits tool.Limits) error {
	room, ok := stretch(memory, b.get(boxInPtrAt), uint32(len(input)))
	if !ok {
		return errBoxRoom
	}
	copy(room, input)
	b.set(boxInLenAt, uint32(len(input)))
	b.set(boxMaxCharsAt, uint32(max(limits.MaxChars, 0)))
	b.set(boxMaxLinesAt, uint32(max(limits.MaxLines, 0)))
	for _, at := range []int{boxOutPtrAt, boxOutLenAt, boxErrPtrAt, boxErrLenAt} {
		b.set(at, 0)
	}
	b.set(boxStateAt, boxAsked) // last, because the mailbox may overlap the input
	return nil
}

// take reads what a guest that returned code has set: its output, the first most bytes
// of it, or its error text. Lengths and bounds are checked before anything is copied.
func (b box) take(memory []byte, code uint32, most int) (output, words []byte, err error) {
	switch state := b.get(boxStateAt); {
	case state == boxAnswered || state == boxText:
		out, ok := stretch(memory, b.get(boxOutPtrAt), b.get(boxOutLenAt))
		if !ok {
			return nil, nil, errBoxOutput
		}
		return append([]byte{}, out[:min(len(out), most)]...), nil, nil
	case state == boxFailed:
		text, ok := stretch(memory, b.get(boxErrPtrAt), min(b.get(boxErrLenAt), maxError))
		if !ok {
			return nil, nil, errBoxWords
		}
		return nil, append([]byte{}, text...), nil
	case state == boxNoMemory:
		return nil, nil, errNoMemory
	case state != boxAsked:
		return nil, nil, errBoxState
	case code == 0:
		return nil, nil, errBoxUnread
	}
	return nil, nil, nil // it failed without a text
}

// isBoxFunction reports whether a function is one of the two of a mailbox.
func isBoxFunction(f api.Function, params ...api.ValueType) bool {
	if f == nil {
		return false
	}
	d := f.Definition()
	return string(d.ParamTypes()) == string(params) && string(d.ResultTypes()) == string([]api.ValueType{api.ValueTypeI32})
}
