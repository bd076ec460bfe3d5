package archive

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

const (
	crashDirEnv    = "WEIR_ARCHIVE_CRASH_DIR"    // set: this process is the victim
	crashRoundsEnv = "WEIR_ARCHIVE_CRASH_ROUNDS" // how often it is killed; 80 without
)

// crashText is the text of put number n, from 1 to about 200,000 bytes, so that
// kills fall into small and large commits and into checkpoints.
func crashText(n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	var b strings.Builder
	for want := 1 + r.IntN(1<<(4+r.IntN(14))); b.Len() < want; {
		fmt.Fprintf(&b, "%d 存档 %x\n", n, r.Uint64())
	}
	return b.String()
}

// crashChild puts and says so until it is killed. A second goroutine
// compresses, so that kills fall into that too.
func crashChild(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, Config{Path: filepath.Join(dir, "archive.db")})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	go func() {
		for {
			if err := s.Compact(ctx); err != nil {
				fmt.Println("error", err)
			}
		}
	}()
	seed := time.Now().UnixNano() % (1 << 30)
	for n := int(seed); ; n++ {
		e, err := s.Put(ctx, Entry{Scope: mine, Tool: "run", Full: crashText(n)})
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(e.UUID, n) // unbuffered: one write for the line
	}
}

// Every put that was acknowledged before the process was killed is found byte
// for byte afterwards. SIGKILL takes away the process, not what the kernel has
// buffered: this proves that nothing is acknowledged before SQLite committed it
// and that a torn log is repaired. It does not prove fsync; for that the power
// would have to go.
func TestKilledStoreKeepsWhatItAcknowledged(t *testing.T) {
	pgtest.SQLite(t)
	rounds := 80
	if s := os.Getenv(crashRoundsEnv); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	// Every open checks the whole file, so that one that grew over all rounds
	// would take a slow machine minutes: a new one is begun now and then.
	total := 0
	for done := 0; done < rounds; done += crashBatch {
		total += killSome(t, min(crashBatch, rounds-done))
	}
	t.Logf("%d acknowledged puts over %d kills", total, rounds)
}

// crashBatch is how often one file sees its writer killed.
const crashBatch = 40

// killSome kills the writers of one file, looks for all that they acknowledged
// and returns how much that is.
func killSome(t *testing.T, rounds int) int {
	t.Helper()
	dir := t.TempDir()
	acknowledged := map[string]int{}
	for range rounds {
		for id, n := range killOne(t, dir) {
			acknowledged[id] = n
		}
	}
	if len(acknowledged) < rounds {
		t.Fatalf("only %d puts in %d rounds", len(acknowledged), rounds)
	}
	s := reopen(t, Config{Path: filepath.Join(dir, "archive.db")})
	for id, n := range acknowledged {
		e, err := s.Get(t.Context(), mine, id)
		if err != nil || e.Full != crashText(n) {
			t.Fatalf("put %d as %s is lost: error %v, %d bytes", n, id, err, len(e.Full))
		}
	}
	return len(acknowledged)
}

// killOne runs a victim, kills it at a random moment after its first put and
// returns what it acknowledged.
func killOne(t *testing.T, dir string) map[string]int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]int{}
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // a line cut by the kill is no acknowledgement
		}
		id, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Errorf("the victim says %q", line)
			continue
		}
		if acknowledged[id] = n; len(acknowledged) == 1 {
			time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
	}
	cmd.Wait() // it was killed, so there is an error to expect
	return acknowledged
}
