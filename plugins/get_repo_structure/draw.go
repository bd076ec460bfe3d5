package main

import (
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
)

// drawing writes the tree: two spaces per level cost a model less than lines
// drawn with box characters and say the same.
type drawing struct {
	strings.Builder
	call  *guest.Call
	depth int
}

func (d *drawing) draw(root *folder, start string, partial bool, shown int) {
	total := guest.Grouped(root.files)
	atLeast := ""
	if partial {
		atLeast = d.call.Say("at least ", "至少 ")
	}
	d.WriteString(start + d.call.Say(
		": "+atLeast+some(root.files, "file")+", "+size(root.bytes)+", "+guest.Grouped(shown)+" listed",
		"：共 "+atLeast+total+" 个文件，"+size(root.bytes)+"，列出 "+guest.Grouped(shown)+" 个") + "\n")
	d.content(root)
}

// content writes what is in a folder: folders first, then files.
func (d *drawing) content(f *folder) {
	indent := strings.Repeat("  ", f.depth)
	for _, s := range f.subs {
		d.WriteString(indent + s.name + "/")
		switch {
		case s.skipped:
			d.WriteString(d.call.Say("  (not looked into)", "  （未查看）") + "\n")
		case s.depth >= d.depth && s.files > 0:
			d.WriteString(d.call.Say(
				"  ("+some(s.files, "file")+" inside, "+size(s.bytes)+")",
				"  （内有 "+guest.Grouped(s.files)+" 个文件，"+size(s.bytes)+"）") + "\n")
		default:
			d.WriteString("\n")
			d.content(s)
		}
	}
	for _, o := range f.own[:f.shown] {
		d.WriteString(indent + o.name + "  " + size(o.size) + "\n")
	}
	if left := len(f.own) - f.shown; left > 0 && f.depth < d.depth {
		d.WriteString(indent + d.call.Say(
			"… "+some(left, "more file"), "… 另有 "+guest.Grouped(left)+" 个文件") + "\n")
	}
}

// some writes a number of things in English.
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return guest.Grouped(n) + " " + what + "s"
}

// size writes bytes as "512 B", "1.5 KB" or "12 MB", in steps of 1,024.
func size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"KB", "MB", "GB", "TB"} {
		if v /= 1024; v < 1024 {
			break
		}
	}
	digits := 0
	if v < 10 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + unit
}
