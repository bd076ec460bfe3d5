package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

// open returns an archive in a temporary folder, and what removes it.
func open() (a *archive.SQLite, remove func()) {
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		panic(err)
	}
	a, err = archive.Open(context.Background(), archive.Config{Path: filepath.Join(dir, "archive.db")})
	if err != nil {
		panic(err)
	}
	return a, func() { a.Close(); os.RemoveAll(dir) }
}

var scope = archive.Scope{Principal: "ann", Conversation: "c1"}

// A result is archived whole, and any part of it is read later.
func ExampleSQLite_Read() {
	a, remove := open()
	defer remove()
	ctx := context.Background()
	e, err := a.Put(ctx, archive.Entry{Scope: scope, Tool: "grep", Full: "one\ntwo\nthree\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := a.Read(ctx, scope, e.UUID, archive.Part{First: 2, Last: 3})
	fmt.Printf("%d characters, %d lines; selected: %q, error %v\n", e.Chars, e.Lines, page.Text, err)

	bob := archive.Scope{Principal: "bob", Conversation: "c1"}
	_, err = a.Read(ctx, bob, e.UUID, archive.Part{})
	fmt.Println(errors.Is(err, archive.ErrNotFound))
	// Output:
	// 14 characters, 3 lines; selected: "two\nthree\n", error <nil>
	// true
}

// The same call with the same text is archived once in a conversation.
func ExampleSQLite_PutOnce() {
	a, remove := open()
	defer remove()
	e := archive.Entry{Scope: scope, Tool: "read_file", Input: json.RawMessage(`{"path":"a.txt"}`), Full: "text"}
	first, _, _ := a.PutOnce(context.Background(), e)
	second, again, err := a.PutOnce(context.Background(), e)
	fmt.Println(first.UUID == second.UUID, again, err)
	// Output: true true <nil>
}

// Search returns the lines that contain all words.
func ExampleSQLite_Search() {
	a, remove := open()
	defer remove()
	ctx := context.Background()
	_, err := a.Put(ctx, archive.Entry{Scope: scope, Tool: "read_log", Full: "started\nrequest timeout, retry in 5 s\nstopped\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := a.Search(ctx, scope, "RETRY timeout", archive.SearchOptions{})
	for _, h := range found.Hits {
		fmt.Printf("line %d: %s\n", h.Line, h.Snippet)
	}
	fmt.Println(err)
	// Output:
	// line 2: request timeout, retry in 5 s
	// <nil>
}

// Models write the arguments of load_tool_history in many ways.
func ExampleParsePart() {
	id, part, err := archive.ParsePart(json.RawMessage(`{"uuid": "archived as 01A201A6-6788-74D2-8012-9A9812D23E20", "line": "L95-L706"}`))
	fmt.Println(id, part.First, part.Last, err)
	_, _, err = archive.ParsePart(json.RawMessage(`{"uuid": "01a201a6-6788-74d2-8012-9a9812d23e20", "head": -1}`))
	bad, _ := errors.AsType[*tool.Error](err)
	fmt.Println(bad.Code, bad.Msg)
	// Output:
	// 01a201a6-6788-74d2-8012-9a9812d23e20 95 706 <nil>
	// bad_args head must be a whole number, 0 or more
}
