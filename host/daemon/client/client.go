// Package client is a client of the daemon's HTTP API. New connects to a daemon at
// a known address; Find looks for the daemon of a data folder; InProcess serves an
// http.Handler without a port, for a program that runs the daemon inside itself.
// Get, Post and Do exchange JSON values; the types of the requests and answers are
// in package daemon. Ask streams the events of one answer, and MCP opens a
// connection for the messages of a Model Context Protocol client.
//
// An answer that is not successful is a *api.Problem: it has a code for
// programs, a sentence and a hint for people.
package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
)

// A Client speaks to one daemon. It is safe for concurrent use.
type Client struct {
	http     *http.Client
	base     string
	token    string
	language string
	close    func()
}

// New returns a client for the daemon at base, such as http://127.0.0.1:8420, with
// the token of a user or of the operator. It does not connect yet.
func New(base, token string) *Client {
	return &Client{http: &http.Client{}, base: strings.TrimSuffix(base, "/"), token: token, close: func() {}}
}

// URL returns the address of the daemon.
func (c *Client) URL() string { return c.base }

// SetLanguage makes the daemon answer in a language, such as "en" or "zh": it is
// sent as Accept-Language. It must be called before the first request.
func (c *Client) SetLanguage(tag string) { c.language = tag }

// Close ends a daemon that runs inside this process; a daemon elsewhere is not
// affected.
func (c *Client) Close() { c.close() }

// Get reads the JSON value at a path into into. If into is a *json.RawMessage, it
// receives the answer as it is; if it is nil, the answer is discarded.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.Do(ctx, http.MethodGet, path, nil, into)
}

// Post sends body as JSON to a path and reads the answer as Get does.
func (c *Client) Post(ctx context.Context, path string, body, into any) error {
	return c.Do(ctx, http.MethodPost, path, body, into)
}

// Do makes a request with body as JSON, or without a body if it is nil, and reads
// the answer as Get does.
func (c *Client) Do(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.Send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if raw, ok := into.(*json.RawMessage); ok {
		*raw, err = io.ReadAll(resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// Send makes a request and returns the answer, whose body the caller must close. An
// answer that is not successful is returned as a *api.Problem.
func (c *Client) Send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return nil, err
	}
	c.authorize(req)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, msg.Errorf("the daemon at %s does not answer: %w", c.base, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var p struct {
		Error api.Problem `json:"error"`
	}
	if json.NewDecoder(resp.Body).Decode(&p) != nil || p.Error.Error() == "" {
		return nil, msg.Errorf("the daemon at %s answered %s", c.base, resp.Status)
	}
	p.Error.Status = resp.StatusCode
	return nil, &p.Error
}

func (c *Client) authorize(req *http.Request) {
	req.Header.Set("Authorization", "Bearer "+c.token)
	if c.language != "" {
		req.Header.Set("Accept-Language", c.language)
	}
}

// ErrInterrupted says that the daemon closed the stream of an answer before its
// end.
var ErrInterrupted = errors.New("the answer broke off: the daemon closed the stream")

// Ask asks a question and calls each for every event of the answer, until
// chat.end or until each returns an error. The names of the events and the types
// of their data are those of the route POST /api/chat.
func (c *Client) Ask(ctx context.Context, ask api.Ask, each func(name string, data json.RawMessage) error) error {
	resp, err := c.Send(ctx, http.MethodPost, "/api/chat", ask)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r := bufio.NewReaderSize(resp.Body, 64<<10)
	var name string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return cmp.Or(ctx.Err(), ErrInterrupted)
		}
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		switch key {
		case "event":
			name = value
		case "data":
			if err := each(name, json.RawMessage(value)); err != nil {
				return err
			}
			if name == "chat.end" {
				return nil
			}
		}
	}
}

// String returns the address of the daemon; the token stays secret.
func (c *Client) String() string { return fmt.Sprintf("client of %s", c.base) }
