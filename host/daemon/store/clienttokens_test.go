package store

import (
	"testing"
	"time"
)

// The token of a client is found by its digest until it is deleted, its user is, or the token
// that made it is another one.
func TestClientTokens(t *testing.T) {
	s := openTest(t)
	put := func(digest, owner, principal, client string) {
		t.Helper()
		if err := s.PutClientToken(t.Context(), ClientToken{digest, owner, principal, client, time.UnixMilli(1_700_000_000_000).UTC()}); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(digest string) bool {
		t.Helper()
		_, ok, err := s.ClientToken(t.Context(), digest)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	put("a", "old", "ann", "opencode")
	put("b", "bobs", "bob", "opencode")
	put("c", "new", "ann", "qwen")
	put("d", "new", "ann", "qwen")
	if holds("a") || !holds("b") || !holds("c") || holds("e") {
		t.Error("a token of an owner's former token holds, or another does not")
	}
	list, err := s.ClientTokens(t.Context(), "ann", "new")
	if err != nil || len(list) != 2 || list[0] != (ClientToken{"c", "new", "ann", "qwen", time.UnixMilli(1_700_000_000_000).UTC()}) {
		t.Errorf("%+v %v", list, err)
	}
	if err := s.DeleteClientTokens(t.Context(), "c", "e"); err != nil || holds("c") || !holds("d") {
		t.Errorf("after the first was deleted: %v", err)
	}
	if _, err := s.Purge(t.Context(), "ann"); err != nil || holds("d") || !holds("b") {
		t.Errorf("after the user was deleted: %v", err)
	}
}
