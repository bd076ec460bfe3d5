package store

import (
	"fmt"
	"testing"
)

// The session of a client is found for its principal and its token until it is ended, its
// token is revoked or it was not used for 7 days. Of too many the oldest goes.
func TestMCPSessions(t *testing.T) {
	s := openTest(t)
	move := func(days int) { // in place of the database's clock
		t.Helper()
		if _, err := s.db.ExecContext(t.Context(), "UPDATE mcp_sessions SET created_at = created_at - ?", days*24*3600*1000); err != nil {
			t.Fatal(err)
		}
	}
	put := func(id, principal, token string) {
		t.Helper()
		if err := s.PutMCPSession(t.Context(), MCPSession{id, principal, token, []byte("hello of " + id)}); err != nil {
			t.Fatal(err)
		}
	}
	finds := func(id, principal, token string) bool {
		t.Helper()
		hello, err := s.TakeMCPSession(t.Context(), principal, id, token)
		if err != nil || hello != nil && string(hello) != "hello of "+id {
			t.Fatalf("%q %v", hello, err)
		}
		return hello != nil
	}
	put("a", "ann", "t1")
	put("b", "ann", "t2")
	put("c", "bob", "t3")
	put("d", "ann", "")
	if err := s.PutClientToken(t.Context(), ClientToken{Digest: "t2", Owner: "t1", Principal: "ann", Client: "opencode"}); err != nil {
		t.Fatal(err)
	}
	if !finds("a", "ann", "t1") || finds("a", "bob", "t1") || finds("a", "ann", "t2") || finds("a", "ann", "") || finds("e", "ann", "t1") || !finds("d", "ann", "t1") {
		t.Error("a session is found for another principal or token, or not for its own")
	}
	holds := func(principal, token string) bool { return principal+token == "annt1" }
	if ended, err := s.RevokeMCPSessions(t.Context(), holds); err != nil || len(ended) != 1 || ended[0].ID != "c" || ended[0].Principal != "bob" {
		t.Errorf("%+v %v", ended, err)
	}
	if finds("c", "bob", "t3") || !finds("b", "ann", "t2") {
		t.Error("the session of a revoked token is there, or that of another is not")
	}
	if ended, err := s.EndMCPSession(t.Context(), "bob", "a"); ended || err != nil {
		t.Errorf("somebody else ends it: %v", err)
	}
	if ended, err := s.EndMCPSession(t.Context(), "ann", "b"); !ended || err != nil || finds("b", "ann", "t2") {
		t.Errorf("it was ended: %t %v", ended, err)
	}
	move(6)
	if !finds("a", "ann", "t1") {
		t.Error("it is gone after 6 days")
	}
	move(6)
	if !finds("a", "ann", "t1") || finds("d", "ann", "t1") {
		t.Error("it is gone 6 days after its last use, or another is found after 12")
	}
	for n := range maxMCPSessions {
		put(fmt.Sprintf("ann %d", n), "ann", "t1")
		if n == 0 {
			put("b", "bob", "t3")
			move(1)
		}
	}
	if finds("a", "ann", "t1") || !finds("ann 0", "ann", "t1") || !finds("ann 999", "ann", "t1") || !finds("b", "bob", "t3") {
		t.Error("the oldest is there, or a newer one is not")
	}
}
