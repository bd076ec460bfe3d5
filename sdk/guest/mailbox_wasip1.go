package guest

import (
	"strconv"
	"unsafe"
)

// A mailbox is the memory through which guest and host exchange input and answer:
// a struct in the guest's memory that a host with mailboxes reads and writes
// directly. For other hosts the guest uses Extism's functions.
type mailbox struct {
	magic, version uint32
	state          uint32
	inPtr, inCap   uint32 // room for the input; the host asks for more by weir_reserve
	inLen          uint32
	outPtr, outLen uint32
	errPtr, errLen uint32
	maxChars       uint32 // limits of the call; 0: none was said
	maxLines       uint32
}

const (
	boxMagic   = 0x72696577 // "weir"
	boxVersion = 2
)

// What the mailbox holds.
const (
	boxEmpty    = 0 // no host has asked by it
	boxAsked    = 1 // an input
	boxAnswered = 2 // an output
	boxText     = 5 // an output that is the text itself
)

// inbox is the room for the input. The garbage collector moves nothing, and what
// box points to is held by these variables.
var (
	box       = mailbox{magic: boxMagic, version: boxVersion}
	firstRoom [4 << 10]byte
	inbox     = firstRoom[:]
	outbox    []byte
)

// weirMailbox is called once, before the memory is taken with which every call
// begins.
//
//go:wasmexport weir_mailbox
func weirMailbox() uint32 {
	warm()
	box.inPtr, box.inCap = address(inbox), uint32(len(inbox))
	return uint32(uintptr(unsafe.Pointer(&box)))
}

// weirReserve makes room for n bytes of input. A runtime without memory ends the
// guest, so that there is no other answer than success.
//
//go:wasmexport weir_reserve
func weirReserve(n uint32) uint32 {
	inbox = make([]byte, n)
	box.inPtr, box.inCap = address(inbox), n
	return 1
}

// warm has the allocator lay out room for values of every small size, and for
// the stack of a call. In each call it would do so again, for 2 µs a size.
func warm() {
	for size := 8; size <= 2<<10; size += max(8, size/16&^7) {
		outbox = make([]byte, size)
		if size <= 512 {
			pointers = make([]*byte, size/8)
		}
	}
	outbox, pointers = nil, nil
	deep(0)
}

// pointers is where values go whose place in memory alone matters.
var pointers []*byte

// deep makes its goroutine's stack as large as calls have it.
//
//go:noinline
func deep(n int) byte {
	var room [6 << 10]byte
	return room[n]
}

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// asked returns the input of a call that came by the mailbox.
func asked() ([]byte, bool) {
	if box.state != boxAsked || box.inLen > uint32(len(inbox)) {
		return nil, false
	}
	return inbox[:box.inLen], true
}

// post leaves the answer where the host finds it. A text alone is left as it is: to
// escape it here takes longer than all else that is done with it.
func post(r Result, err error) {
	if err == nil && r.More == nil && r.Entries == nil && len(r.Sources) == 0 && len(r.Parts) == 0 {
		outbox, box.state = unsafe.Slice(unsafe.StringData(r.Text), len(r.Text)), boxText
	} else {
		outbox, box.state = encode(r, err), boxAnswered
	}
	box.outPtr, box.outLen = address(outbox), uint32(len(outbox))
}

// posted is a setting that came with the call; ok is false when it did not come
// by the mailbox.
func posted(key string) (value string, set, ok bool) {
	var n uint32
	switch {
	case box.state != boxAsked:
		return "", false, false
	case key == keyMaxChars:
		n = box.maxChars
	case key == keyMaxLines:
		n = box.maxLines
	default:
		return "", false, false
	}
	return strconv.FormatUint(uint64(n), 10), n > 0, true
}
