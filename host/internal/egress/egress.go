package egress

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Defaults of a Policy.
const (
	DefaultTimeout      = 10 * time.Second
	DefaultMaxBytes     = 10 << 20
	DefaultMaxRedirects = 5
)

// A Policy says where a guest's requests may go. The zero Policy allows
// nothing.
type Policy struct {
	Allow   []Rule
	Secrets []Secret
	// AllowPrivate holds hosts ("localhost", "10.0.0.7", "*.corp") that may be
	// this machine or one of a private network. They need a Rule as well. A
	// name never leads to link-local addresses and clouds' own services, where
	// keys are handed out; an address that is written here does.
	AllowPrivate []string
	// Timeout is for one request with its redirects; 0 or less: 10 seconds.
	Timeout time.Duration
	// MaxBytes bounds the body of a request and of a response, decompressed;
	// 0 or less: 10 MiB.
	MaxBytes int64
	// MaxRedirects is how many redirects are followed; 0: 5, negative: none.
	MaxRedirects int
	// Transport sends what the policy lets out, hop by hop, in place of the
	// network; nil: the network. What it reaches is its own affair: addresses are
	// looked at where this package dials, and nowhere else.
	Transport http.RoundTripper
}

// A Secret is put into a header of requests to its host.
type Secret struct {
	Name   string // what people call it, such as "TAVILY_API_KEY"
	Header string // the header it goes into; a guest's own value is replaced
	Format string // with {} for the value, such as "Bearer {}"; empty: the value alone
	Host   string // a rule as ParseRule reads it: https unless it says otherwise
	Value  string // empty: nothing is sent
}

// A Client makes requests under one Policy. It is safe for concurrent use.
type Client struct {
	policy    Policy
	secrets   []secret
	transport http.RoundTripper
	resolver  *net.Resolver // nil: the machine's; tests give a lying one
}

// New checks a policy and makes its Client. The policy is copied.
func New(p Policy) (*Client, error) {
	c := &Client{policy: p}
	c.policy.Allow = slices.Clone(p.Allow)
	c.policy.AllowPrivate = nil
	for _, h := range p.AllowPrivate {
		pattern, err := parsePattern(h)
		if err != nil {
			return nil, msg.Errorf("private host %q: %w", h, err)
		}
		c.policy.AllowPrivate = append(c.policy.AllowPrivate, pattern)
	}
	for _, s := range p.Secrets {
		parsed, err := s.parse()
		if err != nil {
			return nil, err
		}
		c.secrets = append(c.secrets, parsed)
	}
	if c.policy.Timeout <= 0 {
		c.policy.Timeout = DefaultTimeout
	}
	if c.policy.MaxBytes <= 0 {
		c.policy.MaxBytes = DefaultMaxBytes
	}
	c.policy.MaxRedirects = cmp.Or(c.policy.MaxRedirects, DefaultMaxRedirects)
	if c.transport = p.Transport; c.transport != nil {
		return c, nil
	}
	c.transport = &http.Transport{
		DialContext:            c.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    c.policy.Timeout,
		MaxIdleConns:           8,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	return c, nil
}

// Close drops idle connections. The Client stays usable.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Hosts lists the rules in force, as people write them.
func (c *Client) Hosts() []string {
	hosts := make([]string, len(c.policy.Allow))
	for i, r := range c.policy.Allow {
		hosts[i] = r.String()
	}
	return hosts
}

// check applies the rules to one hop.
func (c *Client) check(t target) *tool.Error {
	for _, r := range c.policy.Allow {
		if r.allows(t) {
			return nil
		}
	}
	return tool.NewError(tool.Denied, tool.Textf("requests to %s are not allowed for this tool", t), c.allowedHint())
}

// allowedHint lists the allowed hosts, for a model that can choose again.
func (c *Client) allowedHint() tool.Text {
	hosts := c.Hosts()
	const most = 20
	switch extra := len(hosts) - most; {
	case len(hosts) == 0:
		return tool.Textf("this tool has no network access")
	case extra > 0:
		return tool.Textf("allowed: %s, and %d more", strings.Join(hosts[:most], ", "), extra)
	}
	return tool.Textf("allowed: %s", strings.Join(hosts, ", "))
}

// String names a target without anything that could be secret.
func (t target) String() string {
	return t.scheme + "://" + net.JoinHostPort(t.host, fmt.Sprint(t.port))
}

// privateError is what a dial to an address that is not public comes to.
type privateError struct{ host string }

func (e *privateError) Error() string { return e.host + " is not a public address" }

// dial connects for the transport. The check sits at the socket, after the
// name was resolved for the last time, so there is no gap to slip through.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host, err = cleanHost(host); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: c.policy.Timeout, Resolver: c.resolver}
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil || !c.reachable(host, ap.Addr()) {
			return &privateError{host}
		}
		return nil
	}
	return d.DialContext(ctx, network, addr)
}

// reachable reports whether a cleaned host may lead to an address.
func (c *Client) reachable(host string, a netip.Addr) bool {
	if public(a) {
		return true
	}
	return slices.ContainsFunc(c.policy.AllowPrivate, func(p string) bool {
		literal, err := netip.ParseAddr(p)
		return err == nil && p == host && literal == a.Unmap() || err != nil && matchHost(p, host) && machine(a)
	})
}
