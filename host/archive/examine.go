package archive

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Health is what Examine found.
type Health struct {
	Bytes   int64     // of the file and its log
	Results int       // rows, pruned ones included
	Newest  time.Time // of the newest result; zero: there is none
}

// Examine reads an archive's file from one end to the other without changing
// it, also while a Store has it open. Its errors are those of Open; when ctx
// ends first, the file is not read to the end. A file that does not exist is
// fs.ErrNotExist.
func Examine(ctx context.Context, path string) (Health, error) {
	var h Health
	for _, end := range []string{"", "-wal"} {
		st, err := os.Stat(path + end)
		if err != nil && end == "" {
			return h, err
		}
		if err == nil {
			h.Bytes += st.Size()
		}
	}
	if fresh, err := checkHeader(path); err != nil || fresh {
		return h, err
	}
	// Reading a log needs the file that lies beside it while somebody writes.
	// Without either nothing is open, and nothing must be made.
	_, logErr := os.Stat(path + "-wal")
	_, sharedErr := os.Stat(path + "-shm")
	still := logErr != nil && sharedErr != nil
	version, err := inspect(ctx, path, still)
	if err != nil {
		return h, err
	}
	if newest := latestVersion(); version > newest {
		return h, fmt.Errorf("%s: %w (its version is %d, this weir knows %d)", path, ErrNewer, version, newest)
	}
	if version == 0 {
		return h, nil
	}
	db, err := sql.Open("sqlite", dataSource(path, false, hooks{readOnly: true, frozen: still}))
	if err != nil {
		return h, err
	}
	defer db.Close()
	var at int64
	err = db.QueryRowContext(ctx, "SELECT count(*), coalesce(max(created_at), 0) FROM tool_result_archive").Scan(&h.Results, &at)
	if at > 0 {
		h.Newest = time.UnixMilli(at)
	}
	return h, wrap(ctx, path, err)
}

// latestVersion is the version of the tables that this program knows.
func latestVersion() int64 {
	var latest int64
	names, _ := fs.Glob(migrations, "migrations/*.sql") // the pattern is sound
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			latest = max(latest, n)
		}
	}
	return latest
}
