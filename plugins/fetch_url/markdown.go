package main

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/weirhost/weir/sdk/guest/files"
)

// surroundings are elements around the text of a page; menus and forms cost a
// model room and tell it nothing.
var surroundings = []string{"nav", "footer", "aside", "form", "button", "svg", "iframe", "noscript", "template", "dialog"}

// markdown converts a page; links become absolute. A page that is nothing
// but surroundings is converted with them.
func markdown(u *url.URL, page string, say func(en, zh string) string) (title, text string, err error) {
	title = titleOf(page)
	if text, err = convert(u, page, surroundings); err == nil && len(text) < 100 {
		text, err = convert(u, page, nil)
	}
	if err != nil {
		return "", "", err
	}
	switch {
	case title == "":
		title = u.Host + u.Path
	case !strings.HasPrefix(text, "# "):
		text = "# " + title + "\n\n" + text
	}
	if text == "" {
		text = say(u.String()+" has no text; it may be made by a script.", u.String()+" 没有文本，可能由脚本生成。")
	}
	return title, text, nil
}

func convert(u *url.URL, page string, without []string) (string, error) {
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	for _, tag := range without {
		c.Register.TagType(tag, converter.TagTypeRemove, converter.PriorityEarly)
	}
	text, err := c.ConvertString(page, converter.WithDomain(u.String()))
	return strings.TrimSpace(inlineImage.ReplaceAllString(text, "")), err
}

// inlineImage is a picture whose bytes are in the page.
var inlineImage = regexp.MustCompile(`!\[[^\]]*\]\(data:[^)]*\)`)

var titleTag = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// titleOf reads the title of a page; "" when it has none.
func titleOf(page string) string {
	m := titleTag.FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return strings.Join(strings.Fields(html.UnescapeString(m[1])), " ")
}

var metaCharset = regexp.MustCompile(`(?i)<meta[^>]+charset=["']?\s*([a-z0-9_-]+)`)

// decode gives a page as UTF-8. Its encoding is the one its header or its own
// meta element names; UTF-8 that is valid is believed before both.
func decode(body []byte, charset string) string {
	body = files.Text(body)
	if utf8.Valid(body) {
		return string(body)
	}
	if charset == "" {
		if m := metaCharset.FindSubmatch(body[:min(len(body), 2048)]); m != nil {
			charset = string(m[1])
		}
	}
	var e encoding.Encoding
	switch strings.ToLower(charset) {
	case "gbk", "gb2312", "gb18030", "x-gbk":
		e = simplifiedchinese.GB18030
	case "iso-8859-1", "latin1", "windows-1252", "us-ascii":
		e = charmap.Windows1252
	default:
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	return string(text)
}
