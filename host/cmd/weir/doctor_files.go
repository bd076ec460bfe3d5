package main

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

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/watch"
)

// leastFree is how much of a disk should be free, in bytes; below a tenth of it
// results will soon not be kept.
const leastFree = 500 << 20

// readTime bounds the reading of a large archive.
const readTime = 20 * time.Second

func nopLogger() hclog.Logger { return hclog.NewNullLogger() }

// private complains when a file's mode gives others one of the bits.
func (e *examination) private(area, path string, bits fs.FileMode, s standing, format, command string) {
	st, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && st.Mode().Perm()&bits != 0 {
		e.say(area, s, command+" "+path, format, path)
	}
}

// folders checks the data and cache folders, and the token.
func (e *examination) folders(context.Context) {
	if e.folder("data", e.paths.Data) {
		e.private("data", e.paths.Data, 0o022, faulty, "others may write into %s", "chmod go-w")
		e.private("data", e.paths.Data, 0o055, worrying, "others may look into %s", "chmod 700")
	}
	e.private("data", e.paths.Token, 0o077, faulty, "others may read the token %s, and with it use this daemon", "chmod 600")
	e.private("data", e.paths.Archive, 0o077, worrying, "others may read the archive %s", "chmod 600")
	if e.folder("cache", e.paths.Cache) {
		e.private("cache", e.paths.Cache, 0o022, faulty, "others may write into %s, and what lies there is run", "chmod go-w")
	}
	e.space("data", e.paths.Data)
}

// folder says whether a folder is there and can be written to.
func (e *examination) folder(area, path string) bool {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if up := nearestFolder(path); !writable(up) {
			e.say(area, faulty, "let the user that runs weir write there, or give another folder with --data", "%s does not exist, and %s cannot be written to", path, up)
			return false
		}
		e.say(area, inOrder, "", "%s does not exist yet; it is made when it is needed", path)
		return false
	case err != nil:
		e.say(area, faulty, "check the permissions of the folders above it", "%s cannot be read: %s", path, config.Reason(err))
		return false
	case !st.IsDir():
		e.say(area, faulty, "move the file away, or give another folder with --data", "%s is no folder", path)
		return false
	case !writable(path):
		e.say(area, faulty, "let the user that runs weir write there, or give another folder with --data", "%s cannot be written to", path)
		return false
	}
	e.say(area, inOrder, "", "%s", path)
	return true
}

// nearestFolder is the nearest folder above path that is there.
func nearestFolder(path string) string {
	for up := filepath.Dir(path); ; up = filepath.Dir(up) {
		if _, err := os.Stat(up); err == nil || up == filepath.Dir(up) {
			return up
		}
	}
}

// space says how much room is left where the data lies.
func (e *examination) space(area, path string) {
	if _, err := os.Stat(path); err != nil {
		path = nearestFolder(path)
	}
	free, ok := freeBytes(path)
	switch {
	case !ok:
	case free < leastFree/10:
		e.say(area, faulty, "free some space, or give another folder with --data", "only %s is free where %s lies: results cannot be kept soon", roomy(free), path)
	case free < leastFree:
		e.say(area, worrying, "free some space, or lower [archive] max_bytes", "only %s is free where %s lies", roomy(free), path)
	default:
		e.say(area, inOrder, "", "%s free", roomy(free))
	}
}

// roomy is a size as people say it.
func roomy(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// archive reads the archive from one end to the other.
func (e *examination) archive(ctx context.Context) {
	const area = "archive"
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	h, err := archive.Examine(ctx, e.paths.Archive)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.say(area, inOrder, "", "there is none yet; it is made at the first start")
		return
	case errors.Is(err, context.DeadlineExceeded):
		e.say(area, worrying, "stop other programs that use the disk, and try again", "%s (%s) was not read to the end within %s", e.paths.Archive, roomy(h.Bytes), readTime)
		return
	case err != nil:
		e.say(area, faulty, "move the file away, or restore a copy of it", "%s", err)
		return
	}
	e.say(area, inOrder, "", "%s: %d results, %s, sound", e.paths.Archive, h.Results, roomy(h.Bytes))
	if ahead := time.Until(h.Newest); ahead > time.Minute {
		e.say("clock", faulty, "set this machine's clock, for example with: timedatectl set-ntp true", "the newest result in the archive was made %s from now: the clock is wrong, or was", ahead.Round(time.Second))
	}
}

// pluginFolder says whether a plugin folder can be read, and who may fill it.
func (e *examination) pluginFolder(area string, f FolderSettings) {
	entries, err := os.ReadDir(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.paths.Config == "":
		e.say(area, noted, "make it, and put plugins there", "the plugin folder %s does not exist", f.Path)
	case errors.Is(err, fs.ErrNotExist):
		e.say(area, faulty, "make it, or correct [[plugins.folder]] in "+e.paths.Config, "the plugin folder %s does not exist", f.Path)
	case err != nil:
		e.say(area, faulty, "let the user that runs weir read it", "the plugin folder %s cannot be read: %s", f.Path, config.Reason(err))
	default:
		e.say(area, inOrder, "", "%s (trust %s): %d entries", f.Path, f.Trust, len(entries))
		e.private(area, f.Path, 0o022, worrying, "others may put plugins into %s", "chmod go-w")
	}
}

// watching says whether changes of the plugin folders are seen as they happen.
func (e *examination) watching(context.Context) {
	const area = "watch"
	if !*e.settings.Plugins.Watch {
		e.say(area, noted, "set watch = true below [plugins], or run `weir plugin reload` after changes", "plugin folders are not watched")
		return
	}
	if poll := time.Duration(e.settings.Plugins.Poll); poll > 0 {
		e.say(area, inOrder, "", "plugin folders are looked at every %s", poll)
		return
	}
	var dirs []string
	for _, f := range e.settings.Plugins.Folder {
		dirs = append(dirs, f.Path)
	}
	if why, fix := watch.Probe(dirs); why != "" {
		e.say(area, worrying, fix, "plugin folders are looked at every 2 seconds, for the system does not tell of all changes: %s", strings.TrimSuffix(why, "."))
		return
	}
	e.say(area, inOrder, "", "the system tells of changes in the plugin folders")
}

// clock checks that time runs as it should, and against the times of files.
func (e *examination) clock(context.Context) {
	const area = "clock"
	const set = "set this machine's clock, for example with: timedatectl set-ntp true"
	now := time.Now()
	bad := false
	complain := func(s standing, format string, args ...any) {
		bad = true
		e.say(area, s, set, format, args...)
	}
	if now.Year() < 2025 || now.Year() > 2100 {
		complain(faulty, "it is not %s: every certificate would be refused", now.Format("2006-01-02"))
	}
	// The difference of the readings without their monotonic parts.
	wall := now.Round(0).Sub(e.began.Round(0))
	if drift := wall - now.Sub(e.began); drift > 2*time.Second || drift < -2*time.Second {
		complain(worrying, "it was moved by %s while doctor ran", drift.Round(time.Millisecond))
	}
	for _, path := range []string{e.paths.Archive + "-wal", e.paths.Archive, e.paths.Token, e.paths.Data} {
		st, err := os.Stat(path)
		if err == nil && st.ModTime().Sub(now) > time.Minute {
			complain(worrying, "%s was changed %s from now: the clock is behind, or the file system's is ahead", path, st.ModTime().Sub(now).Round(time.Second))
			break
		}
	}
	if !bad {
		e.say(area, inOrder, "", "%s", now.Format("2006-01-02 15:04:05 -07:00"))
	}
}
