package archive

import (
	"errors"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// A person who looks at a result must not make it look as if a model had to
// load it back.
func TestPeekCountsNoLoad(t *testing.T) {
	s := openTest(t)
	e := put(t, s, fiveLines)
	page, err := s.Peek(t.Context(), mine, e.UUID, Part{First: 2, Last: 2})
	if err != nil || page.Text != "two\n" || page.Entry.Full != "" || page.Entry.UUID != e.UUID {
		t.Fatalf("%+v, %v", page, err)
	}
	if got, err := s.Get(t.Context(), mine, e.UUID); err != nil || got.Loads != 0 || !got.LastLoad.IsZero() {
		t.Errorf("after a peek: %d loads, %v", got.Loads, err)
	}
	if page, err = s.Read(t.Context(), mine, e.UUID, Part{}); err != nil || page.Entry.Loads != 1 || page.Text != fiveLines {
		t.Errorf("a read: %d loads, %v", page.Entry.Loads, err)
	}
	if _, err := s.Peek(t.Context(), Scope{Principal: "bob", Conversation: "c1"}, e.UUID, Part{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another's result: %v", err)
	}
	var bad *tool.Error
	if _, err := s.Peek(t.Context(), mine, e.UUID, Part{First: 9}); !errors.As(err, &bad) || bad.Code != tool.BadArgs {
		t.Errorf("a line that does not exist: %v", err)
	}
}
