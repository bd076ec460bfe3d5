package store

import "testing"

// Mail is kept for sessions that there are, and not without end.
func TestMailIsBounded(t *testing.T) {
	s := shared(t, 1)[0]
	if err := s.PutMCPSession(t.Context(), MCPSession{ID: "s", Principal: "ann", Hello: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "INSERT INTO mcp_mail (sender, target, principal, session, created_at, body) SELECT 'a', 'b', 'ann', 's', "+clockSQL+", '' FROM generate_series(3, ?)", maxMail); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, session := range []string{"s", "made up"} {
			if err := s.SendMail(t.Context(), Mail{Sender: "a", Target: "b", Principal: "ann", Session: session, Body: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all, madeUp int
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*), count(*) FILTER (WHERE session <> 's') FROM mcp_mail").Scan(&all, &madeUp); err != nil || all != maxMail || madeUp != 0 {
		t.Errorf("%d messages, %d of them for no session: %v", all, madeUp, err)
	}
	if _, err := s.db.ExecContext(t.Context(), "UPDATE mcp_mail SET created_at = 0"); err != nil {
		t.Fatal(err)
	}
	if err := s.DropRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM mcp_mail").Scan(&all); err != nil || all != 0 {
		t.Errorf("%d old messages are left: %v", all, err)
	}
}
