// Package params reads parameters of requests, and describes those that several routes
// have.
package params

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/sdk/tool"
)

// Language returns the language in which a request wants its errors.
func Language(r *http.Request) tool.Locale {
	if strings.HasPrefix(strings.TrimSpace(r.Header.Get("Accept-Language")), "zh") {
		return tool.Zh
	}
	return tool.En
}

// Int returns a whole number of the query, or unset.
func Int(r *http.Request, name string, unset int) (int, error) {
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

// Bool returns true or false of the query, or unset.
func Bool(r *http.Request, name string, unset bool) (bool, error) {
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

// Locale returns the language that the query names, or English.
func Locale(r *http.Request) (tool.Locale, error) {
	switch l := tool.Locale(r.URL.Query().Get("locale")); l {
	case "":
		return tool.En, nil
	case tool.En, tool.Zh:
		return l, nil
	default:
		return "", api.Problemf(http.StatusBadRequest, "bad_query", "use en or zh", "there is no locale %q", api.Clip(string(l), 40))
	}
}

// Query is a parameter of a URL's query; kind is its type in JSON Schema.
func Query(name, kind, about string) openapi.Param {
	return openapi.Param{Name: name, Type: kind, About: about}
}

// Limit is the parameter that bounds a list.
func Limit(unset string) openapi.Param {
	return Query("limit", "integer", "at most so many; left out: "+unset)
}

// ID is the parameter that chooses entries by a part of their id.
func ID() openapi.Param {
	return Query("id", "string", "the beginning or the end of the id")
}

// Conversation is the parameter that chooses one conversation.
func Conversation() openapi.Param {
	return Query("conversation_id", "string", "only of this conversation; left out: of all")
}
