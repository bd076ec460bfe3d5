//go:build linux && (amd64 || arm64)

package confine

import "testing"

// TestFilters: each list fits the kernel's bound, and every jump ends in its call.
func TestFilters(t *testing.T) {
	guest := Set{Files: []int{9, 10, 11}}
	read, write := guest, guest
	read.Folders, write.Folders = []Folder{{FD: 6}}, []Folder{{FD: 6, Write: true}}
	for name, s := range map[string]Set{"guest": guest, "reader": read, "writer": write, "compiler": {Folders: write.Folders, Code: true}} {
		seen := make(map[uint32]bool)
		for _, c := range calls(s) {
			if seen[c.number] {
				t.Errorf("%s: call %d is listed twice", name, c.number)
			}
			seen[c.number] = true
			body := c.body()
			for at, f := range body {
				if f.Code == jumpEqual && at+1+int(f.Jf) >= len(body) {
					t.Errorf("%s: call %d: a test jumps beyond its end", name, c.number)
				}
			}
		}
		if n := len(program(calls(s))); n > 4096 {
			t.Errorf("%s: the filter has %d instructions", name, n)
		}
		t.Logf("%s: %d system calls, %d instructions", name, len(seen), len(program(calls(s))))
	}
}
