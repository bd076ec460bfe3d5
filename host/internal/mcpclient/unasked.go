package mcpclient

import (
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/jsonscan"
)

// How many messages that answer nothing are read of a server: at once, and per second. The
// SDK keeps those that came for as long as it takes to handle them.
const unaskedBurst, unaskedRate = 1000, 100

// unasked bounds the messages of a server that answer nothing. It is safe for concurrent use.
type unasked struct {
	log      hclog.Logger
	server   string
	reports  *reports
	progress *rate.Limiter // reports and log lines, of which a loss changes nothing
	other    *rate.Limiter // requests, changed lists
	warn     rate.Sometimes
}

func newUnasked(server string, log hclog.Logger, r *reports) *unasked {
	limiter := func() *rate.Limiter { return rate.NewLimiter(unaskedRate, unaskedBurst) }
	return &unasked{log: log, server: server, reports: r, progress: limiter(), other: limiter(), warn: rate.Sometimes{Interval: time.Minute}}
}

// admits reports whether the SDK reads a message: an answer, or one of not too many others. It
// decides before a message is decoded. A batch is read if all of its messages are. Progress is
// handed on here.
func (u *unasked) admits(message []byte) bool {
	text := strings.TrimSpace(string(message))
	if !strings.HasPrefix(text, "[") {
		admitted, progress := u.admitsOne(text)
		return admitted && !(progress && u.reports.take(text))
	}
	for one := range jsonscan.Items(text) {
		if admitted, _ := u.admitsOne(one); !admitted {
			return false
		}
	}
	return true
}

func (u *unasked) admitsOne(message string) (admitted, progress bool) {
	for name, method := range jsonscan.Members(message) {
		switch {
		case !strings.EqualFold(name, "method"):
		case method == `"notifications/progress"`:
			return u.spend(u.progress), true
		case method == `"notifications/message"`:
			return u.spend(u.progress), false
		default:
			return u.spend(u.other), false
		}
	}
	return true, false
}

func (u *unasked) spend(from *rate.Limiter) bool {
	if from.Allow() {
		return true
	}
	u.warn.Do(func() {
		u.log.Warn("another server sends too many messages that answer nothing; some are dropped", "server", u.server, "most_per_second", unaskedRate)
	})
	return false
}
