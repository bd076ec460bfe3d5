package egress

import (
	"context"
	"slices"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// A Refusal is a host to which the policy let no request out.
type Refusal struct {
	// Host is the target as a grant names it, such as "https://api.example.com", with
	// the port unless it is the usual one. It holds nothing of a URL but that.
	Host string
	// Private says that a rule allows the host, which leads to this machine or to a
	// private network.
	Private bool
}

// MaxRefusals bounds the refusals that are remembered at one place.
const MaxRefusals = 16

// A Recorder sends requests under the policy of its Client, and remembers the first
// MaxRefusals hosts that were refused. It is safe for concurrent use.
type Recorder struct {
	client *Client
	locale tool.Locale

	mu      sync.Mutex
	refused []Refusal
}

// Record returns a Recorder without refusals, whose errors are in the language l.
func (c *Client) Record(l tool.Locale) *Recorder { return &Recorder{client: c, locale: l} }

// Do is Client.Do.
func (r *Recorder) Do(ctx context.Context, req Request) (Response, *tool.Error) {
	resp, fail := r.client.do(ctx, req, r.add)
	return resp, r.client.clean(r.locale, fail)
}

// Refused returns the refusals, in the order of the requests.
func (r *Recorder) Refused() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}

func (r *Recorder) add(t target, private bool) {
	one := Refusal{Host: t.scheme + "://" + t.hostport(), Private: private}
	if r.client.scrub(one.Host) != one.Host {
		return // a server redirected to a name made of a secret
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) < MaxRefusals && !slices.Contains(r.refused, one) {
		r.refused = append(r.refused, one)
	}
}
