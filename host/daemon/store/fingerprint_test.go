package store

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/archive"
)

// marked lists the ids of the conversations that bear a mark.
func marked(t *testing.T, s *fixture, principal, mark string) string {
	t.Helper()
	list, err := s.FindByFingerprint(t.Context(), principal, mark)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, " ")
}

func TestFingerprints(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	second, theirs := Scope{Principal: "ann", Conversation: "c2"}, Scope{Principal: "bob", Conversation: "c3"}
	for _, sc := range []Scope{mine, second, theirs} {
		ensure(t, s, sc)
		if err := s.SetFingerprints(t.Context(), sc, []string{"same", "same", "", "of " + sc.Conversation}); err != nil {
			t.Fatal(err)
		}
		c.forward(time.Minute)
	}
	for _, row := range []struct{ principal, mark, want, why string }{
		{"ann", "same", "c2 c1", "the one used last comes first, and nobody else's comes"},
		{"ann", "of c1", "c1", "one of several marks is enough"},
		{"bob", "same", "c3", "each principal has their own"},
		{"bob", "of c1", "", "another's mark finds nothing"},
		{"ann", "", "", "no mark finds nothing"},
		{"", "same", "", "nobody finds nothing"},
	} {
		if got := marked(t, s, row.principal, row.mark); got != row.want {
			t.Errorf("%s: found %q, want %q", row.why, got, row.want)
		}
	}
	if err := s.Append(t.Context(), mine, []Message{{Role: "user"}}); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, s, "ann", "same"); got != "c1 c2" {
		t.Errorf("after c1 was used: %q", got)
	}
	if err := s.SetFingerprints(t.Context(), mine, []string{"new"}); err != nil {
		t.Fatal(err)
	}
	if a, b := marked(t, s, "ann", "same"), marked(t, s, "ann", "new"); a != "c2" || b != "c1" {
		t.Errorf("new marks replace the old: %q, %q", a, b)
	}
	for _, sc := range strangers[1:] {
		if err := s.SetFingerprints(t.Context(), sc, []string{"new"}); err != ErrNotFound {
			t.Errorf("marking %+v: %v", sc, err)
		}
	}
}

func TestFingerprintsAreDeletedWithTheirConversation(t *testing.T) {
	s := openTest(t)
	ensure(t, s, mine)
	if err := s.SetFingerprints(t.Context(), mine, []string{"mark-needle"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteConversation(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, s, "ann", "mark-needle"); got != "" {
		t.Errorf("still marked: %q", got)
	}
	if in := onDisk(t, s, "mark-needle"); in != nil {
		t.Errorf("the mark is left in the files %q", in)
	}
}
