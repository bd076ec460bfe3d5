package plugintest

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// maxContent bounds a repeated text, in bytes.
const maxContent = 64 << 20

// content reads { text | base64 | from, repeat }.
func (n node) content() []byte {
	var data []byte
	_, isText := n.Values["text"]
	_, isBase64 := n.Values["base64"]
	_, isFile := n.Values["from"]
	given := 0
	for _, is := range []bool{isText, isBase64, isFile} {
		if is {
			given++
		}
	}
	if given != 1 {
		n.Bad("", tool.Textf("give one of text, base64 and from"), "%s says in %d ways what it holds", n.Path, given)
	}
	data = []byte(n.text("text"))
	if isBase64 {
		var err error
		if data, err = base64.StdEncoding.DecodeString(n.text("base64")); err != nil {
			n.Bad("base64", tool.Textf("write it as `base64 FILE` does"), "%s is not base64", n.Name("base64"))
		}
	}
	if isFile {
		data = n.beside("from")
	}
	if times, ok := n.whole("repeat", 1); ok {
		if times*len(data) > maxContent {
			n.Bad("repeat", tool.Textf("repeat it less often"), "%s would hold more than %d bytes", n.Path, maxContent)
		} else {
			data = bytes.Repeat(data, times)
		}
	}
	n.done()
	return data
}

// beside reads the file that a key names, in the folder of the cases.
func (n node) beside(key string) []byte {
	name := n.text(key)
	if name == "" {
		return nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		n.Bad(key, tool.Textf("put the file beside the cases"), "%s is %q, which leads out of the folder of the cases", n.Name(key), name)
		return nil
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(n.src.file), filepath.FromSlash(name)))
	if err != nil {
		n.Bad(key, tool.Textf("fix the path; it is relative to the folder of the cases"), "the file %s cannot be read", name)
	}
	return data
}

func join(list []string) string { return strings.Join(list, ", ") }
