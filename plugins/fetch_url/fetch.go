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
	return page(c, u, resp)
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
			"Argument \"url\" must be a web address of at most %d characters.", maxURL).
			Zh("请写成例如 \"https://example.com/page\"。", "参数 \"url\" 须为不超过 %d 个字符的网址。")
	}
	if u.User != nil {
		return nil, guest.Errorf(tool.BadArgs, "Leave the name and password out.", "Argument \"url\" must not hold a password.").
			Zh("请去掉用户名和密码。", "参数 \"url\" 不能含有密码。")
	}
	u.Fragment = ""
	return u, nil
}

func refused(u *url.URL, status int) error {
	code, hint, zh := tool.Failed, "Try another page.", "请换一个网页。"
	switch {
	case status == 401 || status == 403:
		code, hint, zh = tool.Denied, "The page is not open to everyone; try another.", "该网页不公开，请换一个。"
	case status == 404 || status == 410:
		code, hint, zh = tool.BadArgs, "Check the address, or search for the page.", "请检查网址，或搜索该网页。"
	case status == 429:
		code, hint, zh = tool.RateLimited, "Wait a minute, then try again.", "请等一分钟再试。"
	case status >= 500:
		hint, zh = "The server has a problem; try again later.", "服务器出现问题，请稍后再试。"
	}
	return guest.Errorf(code, hint, "%s answered with status %d.", u.Hostname(), status).Zh(zh, "%s 返回状态 %d。")
}

// page makes the result of a good answer.
func page(c *guest.Call, u *url.URL, resp guest.Response) (guest.Result, error) {
	media, params, err := mime.ParseMediaType(resp.Header("Content-Type"))
	if err != nil {
		media = sniff(resp.Body)
	}
	r := guest.Result{Sources: []tool.Source{{Title: u.Host + u.Path, URL: u.String()}}}
	switch {
	case len(resp.Body) == 0:
		r.Text = c.Say(u.String()+" is empty.", u.String()+" 没有内容。")
	case media == "text/html" || media == "application/xhtml+xml":
		if len(resp.Body) > maxPage {
			return r, guest.Errorf(tool.TooLarge, "Try another page.", "The page has %s bytes; at most %s are read.",
				guest.Grouped(len(resp.Body)), guest.Grouped(maxPage)).Zh("请换一个网页。", "网页有 %s 字节；最多读取 %s 字节。")
		}
		title, text, err := markdown(u, decode(resp.Body, params["charset"]), c.Say)
		if err != nil {
			return r, guest.Errorf(tool.Failed, "Try another page.", "The page could not be read as HTML.").
				Zh("请换一个网页。", "无法把该网页作为 HTML 读取。")
		}
		r.Sources[0].Title = title
		r.Text = text
	case isJSON(media):
		r.Text = readable(resp.Body)
	case strings.HasPrefix(media, "text/") || isText(media):
		r.Text = decode(resp.Body, params["charset"])
	default:
		r.Text = describe(c, u, media, resp.Body)
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

func describe(c *guest.Call, u *url.URL, media string, body []byte) string {
	kind, size := files.Kind(body[:min(len(body), files.SniffBytes)]), guest.Grouped(len(body))
	if kind.IsZero() || kind.Format == "binary data" {
		kind = tool.Text{Format: "data of type " + media, Zh: "类型为 " + media + " 的数据"}
	}
	return c.Say(
		fmt.Sprintf("%s is %s, %s bytes; it has no text to show.", u, kind.Format, size),
		fmt.Sprintf("%s 是%s，%s 字节，没有可显示的文本。", u, kind.Zh, size))
}
