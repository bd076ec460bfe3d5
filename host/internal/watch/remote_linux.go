package watch

import (
	"errors"
	"slices"
	"syscall"
)

// remotes are the kinds of file systems that others may change unseen: NFS,
// SMB, CIFS, SMB2, FUSE, 9P, AFS, Ceph, VirtualBox.
var remotes = []uint32{0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x5346414f, 0x00c36400, 0x786f4256}

// remote reports whether a folder lies where changes may come without events.
func remote(path string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && slices.Contains(remotes, uint32(st.Type))
}

// remedy is what a person can do about missing events.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "allow more with: sysctl fs.inotify.max_user_watches=524288"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "allow more with: sysctl fs.inotify.max_user_instances=512"
	}
	return "nothing has to be done"
}
