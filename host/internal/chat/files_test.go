package chat

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// The line of a call has the command that saves a picture. A name that a shell would read
// as something else is not in it.
func TestFilesOfACall(t *testing.T) {
	p := &term.Printer{}
	for name, want := range map[string]string{
		"picture.png": "--output picture.png", "": "--output FILE", "$(reboot).png": "--output FILE", "-rf": "--output FILE", "a b.png": "--output FILE",
		".bashrc": "--output FILE", "图片.png": "--output FILE", strings.Repeat("x", 61): "--output FILE",
	} {
		line := callLine(p, api.ToolCallStart{}, api.ToolCallResult{Tool: "image_gen", OK: true, KeptUUID: "6f1c", Parts: []tool.Part{{MIME: "text/plain", Bytes: 9}, {Name: name, MIME: "image/png", Bytes: 1234}}}, false)
		if rows := strings.Split(line, "\n"); len(rows) != 3 || rows[1] != "  text/plain, 9 bytes: weir archive show 6f1c --output FILE" ||
			rows[2] != "  image/png, 1,234 bytes: weir archive show 6f1c --part 1 "+want {
			t.Errorf("%q: %q", name, line)
		}
	}
}
