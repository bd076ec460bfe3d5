package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultBase  = "https://ark.cn-beijing.volces.com/api/v3"
	defaultModel = "doubao-seedream-4-0-250828"
	defaultSize  = "1024x1024"
	maxPrompt    = 2000 // characters
	patience     = 110  // seconds for one request; a picture takes 10 to 60
)

type args struct {
	Prompt string `json:"prompt"`
	Size   string `json:"size"` // empty: the operator's
}

// request is the body of /images/generations. The key goes into a header that the
// host adds: the tool never sees it.
type request struct {
	Model          string `json:"model"`
	Prompt         string `json:"prompt"`
	Size           string `json:"size,omitempty"`
	ResponseFormat string `json:"response_format,omitempty"`
}

type answer struct {
	Data []picture `json:"data"`
}

// A picture comes as its bytes or as the address of them.
type picture struct {
	B64  string `json:"b64_json"`
	URL  string `json:"url"`
	Size string `json:"size"`
}

// generate asks the service for one picture and returns it as a part of the result.
func generate(c *guest.Call, in args) (guest.Result, error) {
	r := request{
		Model: config(c, "model", defaultModel), Prompt: strings.TrimSpace(in.Prompt), Size: in.Size,
		ResponseFormat: config(c, "response_format", "b64_json"),
	}
	if r.Size == "" {
		r.Size = config(c, "size", defaultSize)
	}
	if n := utf8.RuneCountInString(r.Prompt); n == 0 || n > maxPrompt {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Describe the picture in a few sentences.",
			"Argument \"prompt\" must have 1 to %d characters; it has %d.", maxPrompt, n).
			Zh("请用几句话描述图片。", "参数 \"prompt\" 须有 1 到 %d 个字符，现有 %d 个。")
	}
	p, err := ask(c, r)
	if err != nil {
		return guest.Result{}, err
	}
	if p.Size == "" {
		p.Size = r.Size
	}
	data, err := p.bytes(c)
	if err != nil {
		return guest.Result{}, err
	}
	if data == nil {
		return elsewhere(c, p), nil
	}
	kind, name := kindOf(data)
	if kind == "" {
		return guest.Result{}, noPicture()
	}
	return guest.Result{
		Text: fmt.Sprintf(c.Say(
			"The picture is made (%s, %s, by %s). The user is shown it; you are not.", "图片已生成（%s，%s，由 %s 生成）。用户会看到图片，你看不到。"), p.Size, kind, r.Model),
		Parts: []tool.Blob{{Name: name, MIME: kind, Data: data}},
	}, nil
}

// config returns a setting; one that is set to nothing stays so.
func config(c *guest.Call, key, fallback string) string {
	if v, ok := c.Config(key); ok {
		return v
	}
	return fallback
}

func ask(c *guest.Call, r request) (picture, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return picture{}, err
	}
	resp, err := c.HTTP(guest.Request{
		Method:         "POST",
		URL:            strings.TrimRight(config(c, "base_url", defaultBase), "/") + "/images/generations",
		Headers:        map[string]string{"Content-Type": "application/json", "Accept": "application/json"},
		Body:           body,
		TimeoutSeconds: patience,
	})
	if err != nil {
		return picture{}, err
	}
	if resp.Status != 200 {
		return picture{}, refused(resp, r.Model)
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		return picture{}, guest.Errorf(tool.Failed, "Try again later.", "The image service did not answer with JSON.").
			Zh("请稍后再试。", "图片服务返回的不是 JSON。")
	}
	if len(a.Data) == 0 || a.Data[0].B64 == "" && a.Data[0].URL == "" {
		return picture{}, noPicture()
	}
	return a.Data[0], nil
}

func noPicture() error {
	return guest.Errorf(tool.Failed, "Try again, or describe it differently.", "The image service did not answer with a picture.").
		Zh("请重试，或换一种描述。", "图片服务没有返回图片。")
}

// bytes returns the picture itself; nil: it is at an address that cannot be read.
func (p picture) bytes(c *guest.Call) ([]byte, error) {
	if p.B64 == "" {
		resp, err := c.HTTP(guest.Request{URL: p.URL, Headers: map[string]string{"Accept": "image/*"}, TimeoutSeconds: patience})
		if e, ok := errors.AsType[*tool.Error](err); ok && e.Code == tool.Cancelled {
			return nil, err
		}
		if err != nil || resp.Status != 200 {
			return nil, nil
		}
		return resp.Body, nil
	}
	text := p.B64
	if strings.HasPrefix(text, "data:") {
		_, text, _ = strings.Cut(text, ",")
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, noPicture()
	}
	return data, nil
}

// elsewhere is the result if the service gave an address that cannot be read here.
func elsewhere(c *guest.Call, p picture) guest.Result {
	return guest.Result{
		Text: fmt.Sprintf(c.Say(
			"The picture is made (%s) and can be seen for a while at %s", "图片已生成（%s），可在一段时间内从以下地址查看：%s"), p.Size, p.URL),
		Sources: []tool.Source{{Title: c.Say("picture", "图片"), URL: p.URL}},
	}
}

// kindOf returns the type of a picture and a name for it; empty: it is none.
func kindOf(data []byte) (kind, name string) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png", "picture.png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg", "picture.jpg"
	case bytes.HasPrefix(data, []byte("GIF8")):
		return "image/gif", "picture.gif"
	case len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp", "picture.webp"
	}
	return "", ""
}

// refused explains a status that is not 200.
func refused(resp guest.Response, model string) error {
	why := detail(resp.Body)
	switch {
	case resp.Status == 401 || resp.Status == 403:
		return guest.Errorf(tool.Denied, "The operator must set the key to a valid one that may use the model.",
			"The image service does not accept the key for the model %s.", model).
			Zh("需由管理员设置一个有效且可使用该模型的密钥。", "图片服务不接受用于模型 %s 的密钥。")
	case resp.Status == 404:
		return guest.Errorf(tool.Failed, "The operator must correct model or base_url in [tools.image_gen] config.",
			"The image service does not know the model %s%s.", model, why).
			Zh("需由管理员修正 [tools.image_gen] config 中的 model 或 base_url。", "图片服务没有模型 %s%s。")
	case resp.Status == 429:
		return guest.Errorf(tool.RateLimited, "Wait a minute, then try again.", "The image service asks to slow down.").
			Zh("请等一分钟再试。", "图片服务要求放慢请求。")
	case resp.Status == 400 || resp.Status == 422:
		return guest.Errorf(tool.BadArgs, "Describe the picture differently, or choose another size.", "The image service refused the request%s.", why).
			Zh("请换一种描述，或选择其他尺寸。", "图片服务拒绝了该请求%s。")
	}
	return guest.Errorf(tool.Failed, "Try again later.", "The image service answered with status %d.", resp.Status).
		Zh("请稍后再试。", "图片服务返回状态 %d。")
}

// detail quotes the service's own words, if it gave any that are short.
func detail(body []byte) string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" || len(e.Error.Message) > 300 {
		return ""
	}
	return ": " + strings.TrimRight(strings.Join(strings.Fields(e.Error.Message), " "), ".")
}
