package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxURL  = 2000    // characters
	maxPage = 2 << 20 // bytes of HTML that are converted; it takes seconds
)

type args struct {
	URL string `json:"url"`
}

// fetch gets a page and gives its text: HTML as Markdown, text and JSON as
// they are, of anything else what it is.
func fetch(c *guest.Call, in args) (guest.Result, error) {
	u, err := address(in.URL)
	if err != nil {
		return guest.Result{}, err
	}
	resp, err := c.HTTP(guest.Request{URL: u.String(), Headers: map[string]string{
		"Accept":          "text/html, text/markdown;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1",
		"Accept-Language": "en, zh;q=0.9, *;q=0.5",
	}})
	if err != nil {
		return guest.Result{}, err
	}
	if resp.Status < 200 || resp.Status > 299 {
		return guest.Result{}, refused(u, resp.Status)
	}
	if final, err := url.Parse(resp.URL); err == nil && final.Host != "" {
		u = final
	}
	return page(u, resp)
}

// address reads what a model wrote as a web address; https may be left out.
func address(written string) (*url.URL, error) {
	s := strings.TrimSpace(written)
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || s == "https://" || len(s) > maxURL || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, guest.Errorf(tool.BadArgs, "Write for example \"https://example.com/page\".",
			"Argument \"url\" must be a web address of at most %d characters.", maxURL)
	}
	if u.User != nil {
		return nil, guest.Errorf(tool.BadArgs, "Leave the name and password out.", "Argument \"url\" must not hold a password.")
	}
	u.Fragment = ""
	return u, nil
}

func refused(u *url.URL, status int) error {
	code, hint := tool.Failed, "Try another page."
	switch {
	case status == 401 || status == 403:
		code, hint = tool.Denied, "The page is not open to everyone; try another."
	case status == 404 || status == 410:
		code, hint = tool.BadArgs, "Check the address, or search for the page."
	case status == 429:
		code, hint = tool.RateLimited, "Wait a minute, then try again."
	case status >= 500:
		hint = "The server has a problem; try again later."
	}
	return guest.Errorf(code, hint, "%s answered with status %d.", u.Hostname(), status)
}

// page makes the result of a good answer.
func page(u *url.URL, resp guest.Response) (guest.Result, error) {
	media, params, err := mime.ParseMediaType(resp.Header("Content-Type"))
	if err != nil {
		media = sniff(resp.Body)
	}
	r := guest.Result{Sources: []tool.Source{{Title: u.Host + u.Path, URL: u.String()}}}
	switch {
	case len(resp.Body) == 0:
		r.Text = u.String() + " is empty."
	case media == "text/html" || media == "application/xhtml+xml":
		if len(resp.Body) > maxPage {
			return r, guest.Errorf(tool.TooLarge, "Try another page.", "The page has %s bytes; at most %s are read.",
				guest.Grouped(len(resp.Body)), guest.Grouped(maxPage))
		}
		title, text, err := markdown(u, decode(resp.Body, params["charset"]))
		if err != nil {
			return r, guest.Errorf(tool.Failed, "Try another page.", "The page could not be read as HTML.")
		}
		r.Sources[0].Title = title
		r.Text = text
	case isJSON(media):
		r.Text = readable(resp.Body)
	case strings.HasPrefix(media, "text/") || isText(media):
		r.Text = decode(resp.Body, params["charset"])
	default:
		r.Text = describe(u, media, resp.Body)
	}
	return r, nil
}

// sniff guesses the type of a page that does not say it.
func sniff(body []byte) string {
	head := body[:min(len(body), files.SniffBytes)]
	switch start := bytes.ToLower(bytes.TrimSpace(head)); {
	case files.Binary(head) != "":
		return "application/octet-stream"
	case bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")):
		return "text/html"
	case json.Valid(body):
		return "application/json"
	}
	return "text/plain"
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// isText names types outside text/ that people read.
func isText(media string) bool {
	switch media {
	case "application/xml", "application/javascript", "application/x-yaml", "application/yaml", "application/toml", "application/x-sh":
		return true
	}
	return strings.HasSuffix(media, "+xml") && media != "image/svg+xml"
}

// readable puts JSON that is written in one long line on many: limits cut at
// line ends, and a model reads it better.
func readable(body []byte) string {
	var b bytes.Buffer
	if bytes.Count(body, []byte("\n")) > 2 || json.Indent(&b, body, "", " ") != nil {
		return string(files.Text(body))
	}
	return b.String()
}

func describe(u *url.URL, media string, body []byte) string {
	kind := files.Binary(body[:min(len(body), files.SniffBytes)])
	if kind == "" || kind == "binary data" {
		kind = "data of type " + media
	}
	return fmt.Sprintf("%s is %s, %s bytes; it has no text to show.", u, kind, guest.Grouped(len(body)))
}
