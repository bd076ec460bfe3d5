package lines

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const most = 40
	for name, size := range map[string]int{"many pieces": 16, "one piece": 1 << 10} {
		long, fits := strings.Repeat("y", most), strings.Repeat("z", most-1)+"\n"
		r := bufio.NewReaderSize(strings.NewReader("a\n"+long+"\n"+fits+"\nb\nc"), size)
		var got []string
		for {
			line, err := Read(r, most)
			if errors.Is(err, ErrLong) {
				got = append(got, "error")
				continue
			}
			got = append(got, string(line))
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if s := strings.Join(got, "|"); s != "a\n|error|"+fits+"|\n|b\n|c" {
			t.Errorf("%s: %q", name, s)
		}
	}
}
