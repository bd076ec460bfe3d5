package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Config is the destination of an Exporter.
type Config struct {
	// URL is the whole address with its path, such as
	// http://127.0.0.1:4318/v1/traces.
	URL string
	// Headers are sent with every request. No error contains their values.
	Headers map[string]string
	// Timeout bounds the sending of one batch, with its repeats. 0 or less: 10
	// seconds.
	Timeout time.Duration
	// Wait is the time before the first repeat, and about doubles each time. 0 or
	// less: half a second.
	Wait time.Duration
	// Failed receives the error when a batch is lost, at most once until the next
	// batch arrives. It must not block. If nil, errors are dropped.
	Failed func(error)
}

// The defaults of Config.
const (
	defaultTimeout = 10 * time.Second
	defaultWait    = time.Second / 2
)

// An Exporter is a trace.SpanExporter. It is safe for concurrent use.
type Exporter struct {
	cfg    Config
	where  string // the address without what may be secret
	client *http.Client
	web    *http.Transport
	failed atomic.Bool
}

var _ trace.SpanExporter = (*Exporter)(nil)

// New returns an Exporter. It does not connect to the collector. The error is about the
// address.
func New(cfg Config) (*Exporter, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the collector is not an http or https address")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Wait <= 0 {
		cfg.Wait = defaultWait
	}
	web := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	return &Exporter{cfg: cfg, where: u.Scheme + "://" + u.Host + u.Path, web: web, client: &http.Client{
		Transport: web,
		// A redirect would send the headers elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ExportSpans sends one batch. Config.Failed receives a failure: only the operator can
// fix it.
func (e *Exporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := encode(spans)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
		err = e.deliver(ctx, body)
	}
	if err == nil {
		e.failed.Store(false)
		return nil
	}
	if !e.failed.Swap(true) && e.cfg.Failed != nil {
		e.cfg.Failed(fmt.Errorf("%d spans did not reach %s: %w", len(spans), e.where, err))
	}
	return nil
}

// Shutdown implements trace.SpanExporter.
func (e *Exporter) Shutdown(context.Context) error {
	e.web.CloseIdleConnections()
	return nil
}

// deliver sends a body until it arrives, is refused for good, or ctx ends.
func (e *Exporter) deliver(ctx context.Context, body []byte) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = e.cfg.Wait
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := e.send(ctx, body)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses))
	if err == nil || last == nil {
		return err
	}
	var after *backoff.RetryAfterError
	var final *backoff.PermanentError
	switch {
	case errors.As(last, &after):
		return errors.New("it is busy")
	case errors.As(last, &final):
		return final.Err
	}
	return last
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// send makes one request. Its error is one of backoff's where it is known
// whether, or when, to ask again.
func (e *Exporter) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(errors.New("its address cannot be asked"))
	}
	for name, v := range e.cfg.Headers {
		req.Header.Set(name, v)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return cause(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
	switch s := resp.StatusCode; {
	case s >= 200 && s < 300:
		return nil
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout:
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
			return backoff.RetryAfter(n)
		}
		return fmt.Errorf("it answers with status %d", s)
	default:
		return backoff.Permanent(fmt.Errorf("it answers with status %d", s))
	}
}

// cause is what went wrong with a request, without its address.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
