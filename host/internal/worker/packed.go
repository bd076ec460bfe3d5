package worker

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/packed"
)

// A callMeta is the small part of a call: everything but its input and its powers. Of
// the powers the child learns only that they exist.
type callMeta struct {
	Export, Tool       string
	MaxChars, MaxLines int
	Config             map[string]string
	MaxOutput          int
	HTTP, Progress     bool // whether the parent answers
	Fresh, MCP         bool
	NewThread          bool // it runs on another thread than the call before
}

// A resultMeta is the small part of a result.
type resultMeta struct {
	Memory, Instance int64 // bytes, nanoseconds
	Relist           bool
	Text             bool         // the output is the text of the answer itself
	Flat             bool         // the output is in the form of answer.Flatten
	Error            *failureMeta // nil: the call succeeded
}

// Both are one byte of flags, then numbers as varints and texts as length and bytes.
const (
	bitHTTP = 1 << iota
	bitProgress
	bitFresh
	bitMCP
	bitThread
)

const (
	bitRelist = 1 << iota
	bitFailed
	bitText
	bitFlat
)

func (m *callMeta) Pack(b []byte) []byte {
	var set byte
	if m.HTTP {
		set |= bitHTTP
	}
	if m.Progress {
		set |= bitProgress
	}
	if m.Fresh {
		set |= bitFresh
	}
	if m.MCP {
		set |= bitMCP
	}
	if m.NewThread {
		set |= bitThread
	}
	b = packed.Text(packed.Text(append(b, set), m.Export), m.Tool)
	for _, n := range []int{m.MaxChars, m.MaxLines, m.MaxOutput, len(m.Config)} {
		b = binary.AppendVarint(b, int64(n))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Config)) { // equal settings give equal bytes
		b = packed.Text(packed.Text(b, key), m.Config[key])
	}
	return b
}

func (m *callMeta) unpack(b []byte) error {
	p := packed.Read(b)
	set := p.Byte()
	m.HTTP, m.Progress, m.Fresh, m.MCP = set&bitHTTP != 0, set&bitProgress != 0, set&bitFresh != 0, set&bitMCP != 0
	m.NewThread = set&bitThread != 0
	m.Export, m.Tool = p.Text(), p.Text()
	m.MaxChars, m.MaxLines, m.MaxOutput = int(p.Number()), int(p.Number()), int(p.Number())
	m.Config = nil
	if n := p.Number(); n > 0 {
		m.Config = map[string]string{}
		for ; n > 0 && p.Good(); n-- {
			key := p.Text()
			m.Config[key] = p.Text()
		}
	}
	return endOf(p, kindCall)
}

func (m *resultMeta) Pack(b []byte) []byte {
	var set byte
	if m.Relist {
		set |= bitRelist
	}
	if m.Error != nil {
		set |= bitFailed
	}
	if m.Text {
		set |= bitText
	}
	if m.Flat {
		set |= bitFlat
	}
	b = append(b, set)
	for _, n := range []int64{m.Memory, m.Instance} {
		b = binary.AppendVarint(b, n)
	}
	if m.Error != nil {
		b = packed.Text(b, m.Error.pack())
	}
	return b
}

func (m *resultMeta) unpack(b []byte) error {
	p := packed.Read(b)
	set := p.Byte()
	*m = resultMeta{Relist: set&bitRelist != 0, Text: set&bitText != 0, Flat: set&bitFlat != 0, Memory: p.Number(), Instance: p.Number()}
	if set&bitFailed != 0 {
		failure, err := unpackFailure(p.Text())
		if err != nil {
			return err
		}
		m.Error = failure
	}
	return endOf(p, kindResult)
}

// endOf returns an error unless all bytes of a frame were decoded and none is left.
func endOf(p packed.Reader, k frames.Kind) error {
	if !p.Ended() {
		return fmt.Errorf("%w: kind %d is not readable", frames.ErrProtocol, k)
	}
	return nil
}
