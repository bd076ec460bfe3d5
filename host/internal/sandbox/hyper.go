package sandbox

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"
)

// hyperFunctions are the imports of plugins for hyper-mcp. Notifications are passed on
// where they have a meaning here. Requests are answered as hyper-mcp does for a client
// without that feature, so plugins continue without it. The guest keeps its blocks:
// its PDK frees them.
func hyperFunctions() []hostFunction {
	const i64 = api.ValueTypeI64
	type types = []api.ValueType
	f := func(name string, f hostFunc, params, results types) hostFunction {
		return hostFunction{userModule, name, params, results, f}
	}
	return []hostFunction{
		f("notify_logging_message", hyperLog, types{i64}, nil),
		f("notify_progress", hyperProgress, types{i64}, nil),
		f("notify_tool_list_changed", hyperToolsChanged, nil, nil),
		f("notify_prompt_list_changed", hyperNothing, nil, nil),
		f("notify_resource_list_changed", hyperNothing, nil, nil),
		f("notify_resource_updated", hyperNothing, types{i64}, nil),
		f("notify_url_elicitation_completed", hyperNothing, types{i64}, nil),

		f("create_elicitation", hyperAnswer(`{"action":"decline","content":{"error":"this host does not support elicitation"}}`), types{i64}, types{i64}),
		f("create_message", hyperAnswer(`{"role":"assistant","content":{"type":"text","text":"this host does not support sampling"},"model":"","stopReason":"error"}`), types{i64}, types{i64}),
		f("get_access_token", hyperAnswer(`{"Error":"this host gives out no tokens"}`), types{i64}, types{i64}),
		f("get_keyring_secret", hyperAnswer(""), types{i64}, types{i64}),
		f("list_roots", hyperAnswer(`{"roots":[]}`), nil, types{i64}),
	}
}

func hyperNothing(*host, []uint64) error { return nil }

// hyperAnswer returns the same answer to every request, without reading it.
func hyperAnswer(text string) hostFunc {
	return func(h *host, stack []uint64) (err error) {
		stack[0], err = h.write([]byte(text))
		return err
	}
}

// hyperToolsChanged notes that the plugin's list of tools has changed.
func hyperToolsChanged(h *host, _ []uint64) error {
	h.env.note(func() { h.env.relist = true })
	return nil
}

// hyperLevels are the levels of the protocol's log messages.
var hyperLevels = map[string]hclog.Level{
	"debug": hclog.Debug, "info": hclog.Info, "notice": hclog.Info, "warning": hclog.Warn,
	"error": hclog.Error, "critical": hclog.Error, "alert": hclog.Error, "emergency": hclog.Error,
}

// hyperLog writes a message to the log. An unreadable one is dropped: a message never
// fails a call.
func hyperLog(h *host, stack []uint64) error {
	raw, err := h.read(stack[0], kernelCap)
	if err != nil {
		return err
	}
	var m struct {
		Level, Logger string
		Data          json.RawMessage
	}
	if len(raw) > maxRequest || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	text := string(m.Data)
	if json.Unmarshal(m.Data, &text) != nil {
		var b bytes.Buffer
		if json.Compact(&b, m.Data) == nil {
			text = b.String()
		}
	}
	if m.Logger != "" {
		text = m.Logger + ": " + text
	}
	level, ok := hyperLevels[m.Level]
	if !ok {
		level = hclog.Info
	}
	h.env.lines.write(level, "log", text)
	return nil
}

// hyperProgress passes a report on. Fractions, for instance of 1, become percent.
func hyperProgress(h *host, stack []uint64) error {
	raw, err := h.read(stack[0], kernelCap)
	if err != nil {
		return err
	}
	var p struct {
		Progress, Total float64
		Message         string
	}
	if len(raw) > maxRequest || json.Unmarshal(raw, &p) != nil {
		return nil
	}
	if p.Total > 0 && (p.Total != math.Trunc(p.Total) || p.Progress != math.Trunc(p.Progress)) {
		p.Progress, p.Total = math.Round(100*p.Progress/p.Total), 100
	}
	h.report(count(p.Progress), count(p.Total), p.Message)
	return nil
}

// count converts a plugin's number to one that can be shown.
func count(f float64) int { return int(min(max(f, 0), math.MaxInt32)) }
