package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/store"
)

// A relay hands on what MCP clients send to one daemon, and what is for another:
// answers to a daemon's questions, and the end of calls, which may run anywhere. Daemons
// number their questions from 1 on, so each puts its name before the number.
type relay struct {
	store *store.Store
	self  string
}

// An envelope is what a relay reads of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

const cancelled = "notifications/cancelled"

// maxHanded bounds a message that one daemon hands on to another, in bytes.
const maxHanded = 64 << 10

// receive takes from a message what is for other daemons, and returns the rest, or nil if
// nothing is left.
func (l *relay) receive(ctx context.Context, principal, session string, body []byte) ([]byte, error) {
	batch := []json.RawMessage{body}
	many := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if many && json.Unmarshal(body, &batch) != nil || len(batch) > mcpserver.MaxBatch {
		return body, nil // the server says what is wrong with it
	}
	var rest []json.RawMessage
	for _, m := range batch {
		to, own, addressed := l.address(m)
		switch {
		case addressed && len(own) > maxHanded:
			return nil, api.Problemf(http.StatusRequestEntityTooLarge, "too_large", "", "the body is longer than %d bytes", maxHanded)
		case addressed && to == l.self:
			m = own
		case addressed:
			err := l.store.SendMail(ctx, store.Mail{Sender: l.self, Target: to, Principal: principal, Session: session, Body: own})
			if to != "" && err != nil {
				return nil, err
			}
			if to != "" {
				continue
			}
		}
		rest = append(rest, m)
	}
	switch {
	case len(rest) == 0:
		return nil, nil
	case many:
		return json.Marshal(rest)
	default:
		return rest[0], nil
	}
}

// address returns whom a message is for, empty: all, and how its receiver must see it.
func (l *relay) address(m json.RawMessage) (to string, own []byte, addressed bool) {
	var head envelope
	if json.Unmarshal(m, &head) != nil {
		return "", nil, false
	}
	if head.Method == cancelled {
		return "", m, true
	}
	var id string
	if head.Method != "" || json.Unmarshal(head.ID, &id) != nil {
		return "", nil, false
	}
	to, number, addressed := strings.Cut(id, " ")
	if !addressed || uuid.Validate(to) != nil || !json.Valid([]byte(number)) {
		return "", nil, false
	}
	return to, with(m, "id", json.RawMessage(number)), true
}

// name puts the daemon's name before the number of a question, and of one that it takes back.
func (l *relay) name(m []byte) []byte {
	var head envelope
	if json.Unmarshal(m, &head) != nil || head.Method == "" {
		return m
	}
	if head.Method == cancelled {
		var of struct{ RequestID json.RawMessage }
		if json.Unmarshal(head.Params, &of) != nil {
			return m
		}
		return with(m, "params", json.RawMessage(with(head.Params, "requestId", l.self+" "+string(of.RequestID))))
	}
	if head.ID == nil {
		return m
	}
	return with(m, "id", l.self+" "+string(head.ID))
}

// with returns a JSON object with another value of a key.
func with(object []byte, key string, value any) []byte {
	fields := map[string]json.RawMessage{}
	v, err := json.Marshal(value)
	if err != nil || json.Unmarshal(object, &fields) != nil {
		return object
	}
	fields[key] = v
	out, err := json.Marshal(fields)
	if err != nil {
		return object
	}
	return out
}

// naming is a response whose events the relay names. Each Write is one event of the server.
type naming struct {
	http.ResponseWriter
	relay *relay
}

func (n *naming) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *naming) Write(event []byte) (int, error) {
	head, data, ok := bytes.Cut(event, []byte("data: "))
	if ok && bytes.Contains(data[:min(len(data), 100)], []byte(`"method":`)) {
		named := append(append(bytes.Clone(head), "data: "...), n.relay.name(bytes.TrimSpace(data))...)
		if _, err := n.ResponseWriter.Write(append(named, "\n\n"...)); err != nil {
			return 0, err
		}
		return len(event), nil
	}
	return n.ResponseWriter.Write(event)
}
