// Package tooltest is what the tests of the shipped tools have in common: golden
// files, and a web that a tool reaches over real HTTP.
package tooltest

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/guest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden holds a text to testdata/NAME.golden, which -update writes.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	wanted, have := strings.SplitAfter(string(want), "\n"), strings.SplitAfter(got, "\n")
	at := 0
	for at < min(len(wanted), len(have))-1 && wanted[at] == have[at] {
		at++
	}
	t.Errorf("%s, from line %d on:\n%s\nit is:\n%s", file, at+1, strings.Join(wanted[at:], ""), strings.Join(have[at:], ""))
}

// Web runs a handler on loopback, and returns its address and the way in which a
// tool's requests reach it.
func Web(t testing.TB, h http.Handler) (url string, do func(guest.Request) (guest.Response, error)) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL, func(r guest.Request) (guest.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL, bytes.NewReader(r.Body))
		if err != nil {
			return guest.Response{}, err
		}
		for k, v := range r.Headers {
			req.Header.Set(k, v)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			return guest.Response{}, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		headers := map[string]string{}
		for k := range resp.Header {
			headers[k] = resp.Header.Get(k)
		}
		return guest.Response{Status: resp.StatusCode, URL: resp.Request.URL.String(), Headers: headers, Body: body}, err
	}
}
