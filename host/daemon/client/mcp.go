package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
)

// A Stream is a connection for the messages of a Model Context Protocol client, one
// JSON message on each line. Closing W says that no more messages come; the rest of
// the answers can still be read from R.
type Stream struct {
	R    io.Reader
	W    io.WriteCloser
	conn net.Conn
}

// Close ends the connection.
func (s *Stream) Close() error { return s.conn.Close() }

// MCP opens a Stream. It needs a daemon with a port: it does not work with a client
// of InProcess.
func (c *Client) MCP(ctx context.Context) (*Stream, error) {
	u, err := url.Parse(c.base)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, msg.Errorf("the daemon at %s does not answer: %w", c.base, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/mcp", nil)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.authorize(req)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", api.StreamProtocol)
	r := bufio.NewReaderSize(conn, 64<<10)
	if err = req.Write(conn); err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(r, req); err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			err = errors.New(resp.Status)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, msg.Errorf("the daemon at %s does not take an MCP client: %w", c.base, err)
	}
	return &Stream{R: r, W: writeHalf{conn}, conn: conn}, nil
}

// A writeHalf closes the writing side of a connection only.
type writeHalf struct{ net.Conn }

func (h writeHalf) Close() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return h.Conn.Close()
}
