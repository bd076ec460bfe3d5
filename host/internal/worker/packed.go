package worker

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhost/weir/host/internal/shmring"
)

// A callMeta is the small part of a call: everything but its input and its powers. Of
// the powers the child learns only that they exist.
type callMeta struct {
	Export, Tool       string
	MaxChars, MaxLines int
	Config             map[string]string
	MaxOutput          int
	HTTP, Progress     bool // whether the parent answers
	Fresh              bool
}

// A resultMeta is the small part of a result.
type resultMeta struct {
	Memory, Instance int64 // bytes, nanoseconds
	Took             int64 // nanoseconds from the begin of the call to its end
	Relist           bool
	Text             bool         // the output is the text of the answer itself
	Error            *failureMeta // nil: the call succeeded
}

// Both are one byte of flags, then numbers as varints and texts as length and bytes.
const (
	bitHTTP = 1 << iota
	bitProgress
	bitFresh
)

const (
	bitRelist = 1 << iota
	bitFailed
	bitText
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
	b = packText(packText(append(b, set), m.Export), m.Tool)
	for _, n := range []int{m.MaxChars, m.MaxLines, m.MaxOutput, len(m.Config)} {
		b = binary.AppendVarint(b, int64(n))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Config)) { // equal settings give equal bytes
		b = packText(packText(b, key), m.Config[key])
	}
	return b
}

func (m *callMeta) unpack(b []byte) error {
	p := parcel{rest: b}
	set := p.byte()
	m.HTTP, m.Progress, m.Fresh = set&bitHTTP != 0, set&bitProgress != 0, set&bitFresh != 0
	m.Export, m.Tool = p.text(), p.text()
	m.MaxChars, m.MaxLines, m.MaxOutput = int(p.number()), int(p.number()), int(p.number())
	m.Config = nil
	if n := p.number(); n > 0 {
		m.Config = map[string]string{}
		for ; n > 0 && !p.bad; n-- {
			key := p.text()
			m.Config[key] = p.text()
		}
	}
	return p.end(kindCall)
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
	b = append(b, set)
	for _, n := range []int64{m.Memory, m.Instance, m.Took} {
		b = binary.AppendVarint(b, n)
	}
	if m.Error != nil {
		b = packText(b, m.Error.pack())
	}
	return b
}

func (m *resultMeta) unpack(b []byte) error {
	p := parcel{rest: b}
	set := p.byte()
	*m = resultMeta{Relist: set&bitRelist != 0, Text: set&bitText != 0, Memory: p.number(), Instance: p.number(), Took: p.number()}
	if set&bitFailed != 0 {
		failure, err := unpackFailure(p.text())
		if err != nil {
			return err
		}
		m.Error = failure
	}
	return p.end(kindResult)
}

func packText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A parcel decodes packed bytes. After an error it is bad and returns zero values.
type parcel struct {
	rest []byte
	bad  bool
}

func (p *parcel) byte() byte {
	if p.bad || len(p.rest) == 0 {
		p.bad = true
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

func (p *parcel) number() int64 {
	v, n := binary.Varint(p.rest)
	if p.bad || n <= 0 {
		p.bad = true
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *parcel) text() string {
	l, n := binary.Uvarint(p.rest)
	if p.bad || n <= 0 || l > uint64(len(p.rest)-n) {
		p.bad = true
		return ""
	}
	s := string(p.rest[n : n+int(l)])
	p.rest = p.rest[n+int(l):]
	return s
}

// end returns an error unless all bytes were decoded and none is left.
func (p *parcel) end(k shmring.Kind) error {
	if p.bad || len(p.rest) > 0 {
		return fmt.Errorf("%w: kind %d is not readable", shmring.ErrProtocol, k)
	}
	return nil
}
