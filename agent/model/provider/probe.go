package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// DefaultProbeTimeout bounds the whole search for local servers.
const DefaultProbeTimeout = 500 * time.Millisecond

// maxList bounds a server's list of models, in bytes.
const maxList = 1 << 20

// ProbeOptions change where Probe looks. The zero value is the usual places.
type ProbeOptions struct {
	// BaseURLs replaces the address of presets, by name; an empty address leaves
	// that preset out. Tests point it at servers of their own.
	BaseURLs map[string]string
	// Getenv reads a variable; nil: os.Getenv.
	Getenv func(string) string
	// Timeout bounds the whole search; 0: DefaultProbeTimeout.
	Timeout time.Duration
	// HTTP is the client; nil: one that follows no redirects.
	HTTP *http.Client
}

// A Found is a local server that answers, or a key that is set.
type Found struct {
	Preset  string `json:"preset"`
	Title   string `json:"title"`
	BaseURL string `json:"base_url"`
	// KeyEnv is the variable that holds a key; empty for local servers.
	KeyEnv string `json:"key_env,omitempty"`
	// Models are the names that a local server lists, in its order.
	Models []string `json:"models,omitempty"`
	// Command is what to type to use it. Where no model is known, it holds the
	// placeholder <model>.
	Command string `json:"command"`
}

// Probe looks for the usual local servers, for Ollama where its variables say, and for the usual keys in the
// environment, in the order of Presets. It sends no key anywhere and asks no other
// server. What does not answer in time is not there.
func Probe(ctx context.Context, o ProbeOptions) []Found {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultProbeTimeout)
	if o.HTTP == nil {
		o.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	presets := Presets()
	slots := make([]*Found, len(presets))
	var wg sync.WaitGroup
	for i, p := range presets {
		p.BaseURL = p.address(o.Getenv)
		if base, ok := o.BaseURLs[p.Name]; ok {
			p.BaseURL = base
		}
		switch {
		case p.BaseURL == "":
		case p.KeyEnv == "":
			wg.Go(func() { slots[i] = o.server(ctx, p) })
		case strings.TrimSpace(o.Getenv(p.KeyEnv)) != "":
			slots[i] = &Found{Preset: p.Name, Title: p.Title, BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Command: command(p, "")}
		}
	}
	wg.Wait()
	var out []Found
	for _, f := range slots {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// server returns a server with its list of models; nil: no answer, or another kind of
// server.
func (o ProbeOptions) server(ctx context.Context, p Preset) *Found {
	path := "/models"
	if p.Provider == "ollama" {
		path = "/api/tags"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(p.BaseURL, "/")+path, nil)
	if err != nil {
		return nil
	}
	res, err := o.HTTP.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxList))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	models, ok := readList(body)
	if !ok {
		return nil
	}
	f := &Found{Preset: p.Name, Title: p.Title, BaseURL: p.BaseURL, Models: models}
	f.Command = command(p, firstChat(models))
	return f
}

// readList reads the list of either API. Names that a shell or a terminal could
// misread are left out: any program may listen on that port.
func readList(body []byte) ([]string, bool) {
	var list struct {
		Data   []struct{ ID string }   `json:"data"`
		Models []struct{ Name string } `json:"models"`
	}
	if json.Unmarshal(body, &list) != nil || list.Data == nil && list.Models == nil {
		return nil, false
	}
	var names []string
	add := func(s string) {
		if plainName().MatchString(s) {
			names = append(names, s)
		}
	}
	for _, e := range list.Data {
		add(e.ID)
	}
	for _, e := range list.Models {
		if list.Data == nil { // llama.cpp gives both lists
			add(e.Name)
		}
	}
	return names, true
}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,199}$`) })

// firstChat prefers a model that is not made for embeddings alone.
func firstChat(models []string) string {
	for _, m := range models {
		if low := strings.ToLower(m); !strings.Contains(low, "embed") && !strings.Contains(low, "bge-") && !strings.Contains(low, "rerank") {
			return m
		}
	}
	return ""
}

func command(p Preset, model string) string {
	model = cmp.Or(model, "<model>")
	return "weir model use " + p.Name + " --model " + model
}
