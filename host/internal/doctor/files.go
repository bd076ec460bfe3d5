package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/toolmeta"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// minFree is how much of a disk should be free, in bytes. With less than a tenth of
// it, results can soon not be archived.
const minFree = 500 << 20

// archiveTimeout bounds the reading of a large archive.
const archiveTimeout = 20 * time.Second

// private adds a finding if the mode of a file gives other users one of the bits.
func (e *exam) private(area, path string, bits fs.FileMode, s Status, format, command string) {
	st, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && st.Mode().Perm()&bits != 0 {
		e.addFix(area, s, tool.Textf("%s %s", command, path), format, path)
	}
}

// folders checks the data and cache folders, and the token.
func (e *exam) folders(context.Context) {
	if e.folder("data", e.Paths.Data) {
		e.private("data", e.Paths.Data, 0o022, Fail, "others may write into %s", "chmod go-w")
		e.private("data", e.Paths.Data, 0o055, Warn, "others may look into %s", "chmod 700")
	}
	e.private("data", e.Paths.Token, 0o077, Fail, "others may read the token %s, and with it use this daemon", "chmod 600")
	e.private("data", e.Paths.Archive, 0o077, Warn, "others may read the archive %s", "chmod 600")
	if e.folder("cache", e.Paths.Cache) {
		e.private("cache", e.Paths.Cache, 0o022, Fail, "others may write into %s, and what lies there is run", "chmod go-w")
	}
	e.space("data", e.Paths.Data)
}

// folder checks that a folder exists and can be written to, and reports whether it
// does.
func (e *exam) folder(area, path string) bool {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if up := nearestFolder(path); !writable(up) {
			e.add(area, Fail, "let the user that runs weir write there, or give another folder with --data", "%s does not exist, and %s cannot be written to", path, up)
			return false
		}
		e.add(area, OK, "", "%s does not exist yet; it is made when it is needed", path)
		return false
	case err != nil:
		e.add(area, Fail, "check the permissions of the folders above it", "%s cannot be read: %s", path, msg.Reason(err))
		return false
	case !st.IsDir():
		e.add(area, Fail, "move the file away, or give another folder with --data", "%s is no folder", path)
		return false
	case !writable(path):
		e.add(area, Fail, "let the user that runs weir write there, or give another folder with --data", "%s cannot be written to", path)
		return false
	}
	e.add(area, OK, "", "%s", path)
	return true
}

// nearestFolder returns the nearest folder above path that exists.
func nearestFolder(path string) string {
	for up := filepath.Dir(path); ; up = filepath.Dir(up) {
		if _, err := os.Stat(up); err == nil || up == filepath.Dir(up) {
			return up
		}
	}
}

// space checks the free space of the disk that contains path.
func (e *exam) space(area, path string) {
	if _, err := os.Stat(path); err != nil {
		path = nearestFolder(path)
	}
	free, ok := freeBytes(path)
	switch {
	case !ok:
	case free < minFree/10:
		e.add(area, Fail, "free some space, or give another folder with --data", "only %s is free where %s lies: results cannot be kept soon", sizeText(free), path)
	case free < minFree:
		e.add(area, Warn, "free some space, or lower [archive] max_bytes", "only %s is free where %s lies", sizeText(free), path)
	default:
		e.add(area, OK, "", "%s free", sizeText(free))
	}
}

// sizeText returns a size for people.
func sizeText(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// archive reads the archive from one end to the other.
func (e *exam) archive(ctx context.Context) {
	const area = "archive"
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	others := []sqlite.Schema{store.Schema(), journal.Schema(), toolmeta.Schema(), sharedlock.Schema(), installkey.Schema()}
	where, examine, remedy := e.Paths.Archive, func() (archive.Info, error) { return archive.Examine(ctx, e.Paths.Archive, others...) }, "move the file away, or restore a copy of it"
	if url := e.settings.Store.Database(); url != "" {
		where = e.settings.Redacted().Store.Database()
		examine, remedy = func() (archive.Info, error) { return archive.ExamineDatabase(ctx, url, others...) }, "start the database, or correct [store] url"
	}
	h, err := examine()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.add(area, OK, "", "there is none yet; it is made at the first start")
		return
	case errors.Is(err, context.DeadlineExceeded):
		e.add(area, Warn, "stop other programs that use the disk, and try again", "%s (%s) was not read to the end within %s", where, sizeText(h.Bytes), archiveTimeout)
		return
	case err != nil:
		e.add(area, Fail, remedy, "%s", err)
		return
	}
	e.add(area, OK, "", "%s: %d results, %s, sound", where, h.Results, sizeText(h.Bytes))
	if ahead := time.Until(h.Newest); ahead > time.Minute {
		e.add("clock", Fail, "set this machine's clock, for example with: timedatectl set-ntp true", "the newest result in the archive was made %s from now: the clock is wrong, or was", ahead.Round(time.Second))
	}
}

// pluginFolder checks that a plugin folder can be read, and which users may write
// to it.
func (e *exam) pluginFolder(area string, f config.FolderSettings) {
	entries, err := os.ReadDir(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (e.Paths.Config == "" || f.Path == filepath.Join(e.Paths.Data, "plugins")): // the default folder
		e.add(area, Note, "make it, and put plugins there", "the plugin folder %s does not exist", f.Path)
	case errors.Is(err, fs.ErrNotExist):
		e.addFix(area, Fail, tool.Textf("make it, or correct [[plugins.folder]] in %s", e.Paths.Config), "the plugin folder %s does not exist", f.Path)
	case err != nil:
		e.add(area, Fail, "let the user that runs weir read it", "the plugin folder %s cannot be read: %s", f.Path, msg.Reason(err))
	default:
		e.add(area, OK, "", "%s (trust %s): %d entries", f.Path, f.Trust, len(entries))
		e.private(area, f.Path, 0o022, Warn, "others may put plugins into %s", "chmod go-w")
	}
}

// watching checks whether the system reports changes of the plugin folders.
func (e *exam) watching(context.Context) {
	const area = "watch"
	if !*e.settings.Plugins.Watch {
		e.add(area, Note, "set watch = true below [plugins], or run `weir plugin reload` after changes", "plugin folders are not watched")
		return
	}
	if poll := time.Duration(e.settings.Plugins.Poll); poll > 0 {
		e.add(area, OK, "", "plugin folders are looked at every %s", poll)
		return
	}
	var dirs []string
	for _, f := range e.settings.Plugins.Folder {
		dirs = append(dirs, f.Path)
	}
	if why, fix := watch.Probe(dirs); why != "" {
		e.addFix(area, Warn, tool.Text{Format: fix}, "plugin folders are looked at every 2 seconds, because the system does not report all changes: %s", strings.TrimSuffix(why, "."))
		return
	}
	e.add(area, OK, "", "the system reports changes in the plugin folders")
}

// clock checks the clock, also against the times of files.
func (e *exam) clock(context.Context) {
	const area = "clock"
	const set = "set this machine's clock, for example with: timedatectl set-ntp true"
	now := time.Now()
	bad := false
	report := func(s Status, format string, args ...any) {
		bad = true
		e.add(area, s, set, format, args...)
	}
	if now.Year() < 2025 || now.Year() > 2100 {
		report(Fail, "it is not %s: every certificate would be refused", now.Format("2006-01-02"))
	}
	// The difference of the readings without their monotonic parts.
	wall := now.Round(0).Sub(e.began.Round(0))
	if drift := wall - now.Sub(e.began); drift > 2*time.Second || drift < -2*time.Second {
		report(Warn, "it was moved by %s while doctor ran", drift.Round(time.Millisecond))
	}
	for _, path := range []string{e.Paths.Archive + "-wal", e.Paths.Archive, e.Paths.Token, e.Paths.Data} {
		st, err := os.Stat(path)
		if err == nil && st.ModTime().Sub(now) > time.Minute {
			report(Warn, "%s was changed %s from now: the clock is late, or the file system's is early", path, st.ModTime().Sub(now).Round(time.Second))
			break
		}
	}
	if !bad {
		e.add(area, OK, "", "%s", now.Format("2006-01-02 15:04:05 -07:00"))
	}
}
