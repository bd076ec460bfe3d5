package jail

import "syscall"

// rename moves an entry of one open folder to another.
func (*volume) rename(a, b *parent, _, _ string) error {
	return syscall.Renameat(int(a.dir.Fd()), a.base, int(b.dir.Fd()), b.base)
}
