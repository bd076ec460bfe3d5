// Package value has the values of settings that have a form of their own in tools.toml.
package value

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A ByteLimit is an amount of memory. Negative: there is no bound.
type ByteLimit tool.Bytes

// UnmarshalText accepts what tool.Bytes does, and negative amounts.
func (r *ByteLimit) UnmarshalText(text []byte) error {
	amount, negative := strings.CutPrefix(strings.TrimSpace(string(text)), "-")
	if err := (*tool.Bytes)(r).UnmarshalText([]byte(amount)); err != nil {
		return msg.Errorf("%q is not an amount of bytes; write for example \"64MiB\", or \"-1\" for no bound", text)
	}
	if negative {
		*r = -1
	}
	return nil
}

// MarshalText returns the form that UnmarshalText accepts.
func (r ByteLimit) MarshalText() ([]byte, error) { return tool.Bytes(r).MarshalText() }

// A Duration is a time.Duration that can also be written in days: "30d", "12h", "90s".
type Duration time.Duration

// UnmarshalText accepts the forms of a Duration. A negative one is an error.
func (s *Duration) UnmarshalText(text []byte) error {
	str := strings.TrimSpace(string(text))
	if days, ok := strings.CutSuffix(str, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n < 0 || n > 36500 {
			return msg.Errorf("%q is not a time span; write for example \"30d\", \"12h\" or \"90s\"", str)
		}
		*s = Duration(n * 24 * float64(time.Hour))
		return nil
	}
	d, err := time.ParseDuration(str)
	if err != nil || d < 0 {
		return msg.Errorf("%q is not a time span; write for example \"30d\", \"12h\" or \"90s\"", str)
	}
	*s = Duration(d)
	return nil
}

// MarshalText returns the form that UnmarshalText accepts.
func (s Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// DefaultAddr is where the daemon listens if nothing says otherwise.
const DefaultAddr = "127.0.0.1:8420"

// CheckAddr returns why weir does not listen at an address; nil: it does. Beyond
// loopback the token would travel in the clear.
func CheckAddr(addr string) *msg.Problem {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return msg.Usagef("write HOST:PORT, for example "+DefaultAddr, "%q is not an address", addr)
	}
	if name == "" {
		return msg.Usagef("write HOST:PORT, for example "+DefaultAddr, "%q names no host", addr)
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return msg.Usagef("listen on 127.0.0.1 and put a proxy with TLS in front", "%s is not a loopback address; weir does not serve beyond this machine", name)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return msg.Usagef("write a number from 1 to 65535, or 0 for any free port", "%q is not a port", port)
	}
	return nil
}
