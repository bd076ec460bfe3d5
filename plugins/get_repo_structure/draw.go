package main

import (
	"path"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
)

const ownBytes = 16 << 10 // room for the first line, and for a file with its folder

// drawing writes the tree: two spaces per level cost a model less than lines
// drawn with box characters and say the same. Each file is an entry.
type drawing struct {
	guest.List
	call  *guest.Call
	depth int
	above strings.Builder // lines of folders that belong to the next file
}

// headline says what there is, how much of it is listed, and how much of that is drawn.
func (d *drawing) headline(root *folder, start string, partial bool, drawn, listed int) {
	total := guest.Grouped(root.files)
	atLeast := ""
	if partial {
		atLeast = d.call.Say("at least ", "至少 ")
	}
	d.Head = start + d.call.Say(
		": "+atLeast+some(root.files, "file")+", "+size(root.bytes)+", "+guest.Grouped(listed)+" listed",
		"：共 "+atLeast+total+" 个文件，"+size(root.bytes)+"，列出 "+guest.Grouped(listed)+" 个")
	if listed > drawn {
		d.Head += d.call.Say(
			", "+guest.Grouped(drawn)+" of them first ("+some(d.depth, "level")+")",
			"，先列其中 "+guest.Grouped(drawn)+" 个（"+guest.Grouped(d.depth)+" 层）")
	}
	d.Head += "\n"
}

// file writes the line of a file, after those of the folders above it.
func (d *drawing) file(indent string, f file) {
	d.Entry()
	d.WriteString(d.above.String() + indent + f.name + "  " + size(f.size) + "\n")
	d.above.Reset()
}

// others writes the files that are not drawn, down to a depth and at most so many, folder
// by folder, the upper levels first. It returns how many they are.
func (d *drawing) others(root *folder, start string, depth, most int) (n int) {
	d.WriteString(d.above.String())
	d.above.Reset()
	d.above.WriteString(d.call.Say("The others, folder by folder:\n", "其余文件，按文件夹列出：\n"))
	for level := []*folder{root}; len(level) > 0 && level[0].depth < depth; {
		var below []*folder
		for _, f := range level {
			below = append(below, f.subs...)
			rest := f.own[f.shown:]
			for i, o := range rest {
				if n == most || !d.Fits(ownBytes) {
					return n
				}
				if i == 0 {
					d.above.WriteString(path.Join(start, f.path) + "/\n")
				}
				d.file("  ", o)
				n++
			}
		}
		level = below
	}
	return n
}

// content writes what is in a folder: folders first, then files.
func (d *drawing) content(f *folder) {
	indent := strings.Repeat("  ", f.depth)
	for _, s := range f.subs {
		d.above.WriteString(indent + s.name + "/")
		switch {
		case s.skipped:
			d.above.WriteString(d.call.Say("  (not looked into)", "  （未查看）") + "\n")
		case s.depth >= d.depth && s.files > 0:
			d.above.WriteString(d.call.Say(
				"  ("+some(s.files, "file")+" inside, "+size(s.bytes)+")",
				"  （内有 "+guest.Grouped(s.files)+" 个文件，"+size(s.bytes)+"）") + "\n")
		default:
			d.above.WriteString("\n")
			d.content(s)
		}
	}
	for _, o := range f.own[:f.shown] {
		d.file(indent, o)
	}
	if left := len(f.own) - f.shown; left > 0 && f.depth < d.depth {
		d.above.WriteString(indent + d.call.Say(
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
