//go:build wasip1

// Command intruder is a hostile guest: one call of it exchanges files, folders and links
// of its folder without a pause, another one tries every operation on them meanwhile.
package main

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/guest"
)

func main() {}

type in struct {
	Rounds int      `json:"rounds"`
	Pairs  []string `json:"pairs"` // names that take the place "door" in turn
	Paths  []string `json:"paths"`
}

const root = "/w"

// Exchange puts each of the pairs in the place of the door, and back.
//
//go:wasmexport exchange
func exchange() int32 {
	return guest.Run(func(_ *guest.Call, a in) (guest.Result, error) {
		moved := 0
		for range a.Rounds {
			for _, name := range a.Pairs {
				if os.Rename(path.Join(root, name), path.Join(root, "door")) == nil {
					moved++
				}
				_ = os.Rename(path.Join(root, "door"), path.Join(root, name))
			}
		}
		if moved == 0 {
			return guest.Text("nothing moved"), nil
		}
		return guest.Text("moved"), nil
	})
}

// Intrude tries every operation on every path. It answers with each text and each
// description of a file that it must not have.
//
//go:wasmexport intrude
func intrude() int32 {
	return guest.Run(func(_ *guest.Call, a in) (guest.Result, error) {
		var got strings.Builder
		for round := range a.Rounds {
			for _, name := range a.Paths {
				at := name
				if !strings.HasPrefix(name, "/") {
					at = root + "/" + name
				}
				for what, op := range operations {
					if removes[what] && !strings.Contains(name, "/") && round < a.Rounds-1 {
						continue // its own links are needed longer
					}
					if found := op(at); strings.Contains(found, "SECRET") {
						got.WriteString(what + " " + name + "\n")
					}
				}
			}
		}
		return guest.Text("got:" + got.String()), nil
	})
}

// Operations are what a guest can do with a path; each returns what it read.
var operations = map[string]func(at string) string{
	"read":   func(at string) string { b, _ := os.ReadFile(at); return string(b) },
	"link":   func(at string) string { to, _ := os.Readlink(at); return to },
	"cut":    func(at string) string { return open(at, os.O_RDWR|os.O_TRUNC) },
	"create": func(at string) string { return open(at, os.O_RDWR|os.O_CREATE) },
	"append": func(at string) string { return open(at, os.O_WRONLY|os.O_APPEND|os.O_CREATE) },
	"only":   func(at string) string { return open(at, os.O_RDWR|os.O_CREATE|os.O_EXCL) },
	"times":  func(at string) string { _ = os.Chtimes(at, time.Unix(1, 0), time.Unix(1, 0)); return "" },
	"stat": func(at string) string {
		if info, err := os.Stat(at); err == nil && info.Size() == secretSize {
			return "SECRET"
		}
		return ""
	},
	"list": func(at string) string {
		var found string
		_ = fs.WalkDir(os.DirFS(at), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				b, _ := os.ReadFile(path.Join(at, name))
				found += string(b)
			}
			return nil
		})
		return found
	},
	"folder": func(at string) string { _ = os.Mkdir(at+"/made", 0o700); return "" },
	"into":   func(at string) string { _ = os.Rename(root+"/mine/key", at); return "" },
	"over":   func(at string) string { _ = os.Rename(at, root+"/mine/taken"); return "" },
	"remove": func(at string) string { _ = os.Remove(at); return "" },
	"again": func(at string) string { // what was taken away comes back
		_ = os.Mkdir(root+"/mine", 0o700)
		return open(root+"/mine/key", os.O_RDWR|os.O_CREATE)
	},
}

// removes lists the operations that take the entry away.
var removes = map[string]bool{"remove": true, "into": true, "over": true}

// secretSize is the length of each secret; no other file has it.
const secretSize = 4321

// open opens a file, reads it and writes to it.
func open(at string, flag int) string {
	f, err := os.OpenFile(at, flag, 0o600)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.Read(b)
	_, _ = f.WriteString("INTRUDED")
	return string(b[:n])
}
