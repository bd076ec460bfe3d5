package daemon

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// A handler answers a request, or says why not.
type handler = func(http.ResponseWriter, *http.Request) error

// awaited has Drain wait for what a handler does, and cut it off in the end, as it
// does with turns.
func awaited(g *turns.Admission, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return g.Run(r.Context(), func(ctx context.Context) error { return h(w, r.WithContext(ctx)) })
	}
}

// whole is awaited, for what would be half done if it ended with its client: some
// of a configuration in force, or a plugin that the lock file alone has disabled.
func whole(g *turns.Admission, h handler) handler {
	h = awaited(g, h)
	return func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r.WithContext(context.WithoutCancel(r.Context())))
	}
}

// localeOf returns the language in which a request wants its errors.
func localeOf(r *http.Request) tool.Locale {
	if strings.HasPrefix(strings.TrimSpace(r.Header.Get("Accept-Language")), "zh") {
		return tool.Zh
	}
	return tool.En
}

func queryInt(r *http.Request, name string, unset int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, api.Problemf(http.StatusBadRequest, "bad_query", "give a whole number", "%s=%q: it must be 0 or more", name, api.Clip(v, 40))
	}
	return n, nil
}

func queryBool(r *http.Request, name string, unset bool) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "":
		return unset, nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	default:
		return false, api.Problemf(http.StatusBadRequest, "bad_query", "give true or false", "%s=%q is neither true nor false", name, api.Clip(v, 40))
	}
}

func queryLocale(r *http.Request) (tool.Locale, error) {
	switch l := tool.Locale(r.URL.Query().Get("locale")); l {
	case "":
		return tool.En, nil
	case tool.En, tool.Zh:
		return l, nil
	default:
		return "", api.Problemf(http.StatusBadRequest, "bad_query", "use en or zh", "there is no locale %q", api.Clip(string(l), 40))
	}
}

// queryParam is a parameter of a URL's query; kind is its type in JSON Schema.
func queryParam(name, kind, about string) openapi.Param {
	return openapi.Param{Name: name, Type: kind, About: about}
}

// limitTo is the parameter that bounds a list.
func limitTo(unset string) openapi.Param {
	return queryParam("limit", "integer", "at most so many; left out: "+unset)
}

// ofID is the parameter that chooses entries by a part of their id.
func ofID() openapi.Param {
	return queryParam("id", "string", "the beginning or the end of the id")
}

// inConversation is the parameter that chooses one conversation.
func inConversation() openapi.Param {
	return queryParam("conversation_id", "string", "only of this conversation; left out: of all")
}

const (
	kindStream = "text/event-stream"
	kindText   = "text/plain"
	kindLines  = "application/x-ndjson"

	kindJSON     = "application/json"
	kindMarkdown = "text/markdown"
)
