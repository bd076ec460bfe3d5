package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

type databaseArgs struct {
	FilePath string `json:"file_path"`
	SQL      string `json:"sql"`
	Query    string `json:"query"` // another name of sql
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"` // 0: all
}

// queryDatabase runs a statement on a SQLite file, or describes the file.
func queryDatabase(c *guest.Call, in databaseArgs) (guest.Result, error) {
	if in.FilePath == "" {
		in.FilePath, _ = c.Config("default_file")
	}
	switch {
	case in.FilePath == "":
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Name the SQLite file.", "\"file_path\" is missing, and the operator has set no default_file.").
			Zh("请给出 SQLite 文件。", "缺少 \"file_path\"，管理员也没有设置 default_file。")
	case in.SQL == "":
		in.SQL = in.Query
	case in.Query != "" && in.Query != in.SQL:
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Send one of them.", "\"sql\" and \"query\" are two different statements.").
			Zh("请只发送其中一个。", "\"sql\" 和 \"query\" 是两条不同的语句。")
	}
	tree := files.In(c, files.Workspace)
	name, info, err := tree.File(in.FilePath)
	if err != nil {
		return guest.Result{}, err
	}
	f, err := tree.FS.Open(name)
	if err != nil {
		return guest.Result{}, guest.Errorf(tool.Failed, "Go on without it.", "%q cannot be opened.", name).
			Zh("请不用它继续。", "无法打开 %q。")
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return guest.Result{}, guest.Errorf(tool.Failed, "Go on without it.", "%q can only be read from its begin.", name).
			Zh("请不用它继续。", "%q 只能从头读取。")
	}
	file := &closedFile{at: at, size: info.Size()}
	if err := file.check(name); err != nil {
		return guest.Result{}, err
	}
	readervfs.Create(dbName, file)
	defer readervfs.Delete(dbName)
	conn, err := sqlite3.OpenFlags("file:"+dbName+"?vfs=reader&immutable=1", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return guest.Result{}, failure(name, err)
	}
	defer conn.Close()
	q := query{conn: conn, name: name, sql: in.SQL, offset: in.Offset, limit: in.Limit}
	if strings.TrimSpace(in.SQL) == "" {
		q.sql = ""
		text, err := describe(conn, c.Say)
		if err != nil {
			return guest.Result{}, failure(name, err)
		}
		return guest.Result{Text: text, Sources: []tool.Source{{Title: name, URL: name}}}, nil
	}
	r, err := q.run(c.Say)
	r.Sources = []tool.Source{{Title: name, URL: name}}
	return r, err
}

// dbName is what the open file is called inside this module.
const dbName = "workspace.db"

// closedFile is a database file that is not written while it is read. It hides the
// header bytes that announce a write-ahead log: the log beside the file cannot be
// read without writing to it.
type closedFile struct {
	at   io.ReaderAt
	size int64
}

// Size implements ioutil.SizeReaderAt.
func (f *closedFile) Size() (int64, error) { return f.size, nil }

// ReadAt implements io.ReaderAt.
func (f *closedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.at.ReadAt(p, off)
	for at := int64(18); at <= 19; at++ {
		if i := at - off; i >= 0 && i < int64(n) && p[i] == 2 {
			p[i] = 1
		}
	}
	return n, err
}

const magic = "SQLite format 3\x00"

func (f *closedFile) check(name string) error {
	head := make([]byte, len(magic))
	if n, err := f.at.ReadAt(head, 0); err != nil && err != io.EOF || string(head[:n]) != magic {
		return guest.Errorf(tool.BadArgs, "Name a file that SQLite made; query_csv queries CSV files.", "%q is no SQLite database.", name).
			Zh("请指定 SQLite 创建的文件；CSV 文件用 query_csv 查询。", "%q 不是 SQLite 数据库。")
	}
	return nil
}

// describe lists tables and views with their columns and rows.
func describe(conn *sqlite3.Conn, say func(en, zh string) string) (string, error) {
	tables, err := list(conn, `SELECT name || char(31) || type FROM sqlite_schema WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%' ORDER BY type, name`)
	if err != nil {
		return "", err
	}
	if len(tables) == 0 {
		return say("The database has no tables.\n", "数据库里没有表。\n"), nil
	}
	var b strings.Builder
	for _, t := range tables {
		name, kind, _ := strings.Cut(t, "\x1f")
		rows := "?"
		if n, err := list(conn, "SELECT count(*) FROM "+sqlite3.QuoteIdentifier(name)); err == nil && len(n) == 1 {
			rows = n[0]
		}
		if kind == "view" {
			fmt.Fprintf(&b, say("view %s, %s rows\n", "视图 %s，%s 行\n"), name, rows)
		} else {
			fmt.Fprintf(&b, say("table %s, %s rows\n", "表 %s，%s 行\n"), name, rows)
		}
		columns, err := list(conn, "SELECT '  ' || name || ' ' || type || CASE WHEN pk > 0 THEN ' primary key' ELSE '' END || CASE WHEN \"notnull\" THEN ' not null' ELSE '' END FROM pragma_table_info("+sqlite3.Quote(name)+")")
		if err != nil {
			return "", err
		}
		for _, c := range columns {
			b.WriteString(strings.TrimRight(c, " ") + "\n")
		}
		keys, err := list(conn, "SELECT '  ' || \"from\" || ' → ' || \"table\" || coalesce('.' || \"to\", '') FROM pragma_foreign_key_list("+sqlite3.Quote(name)+")")
		if err != nil {
			return "", err
		}
		for _, k := range keys {
			b.WriteString(k + "\n")
		}
	}
	return b.String(), nil
}

// list is the first column of a statement's rows.
func list(conn *sqlite3.Conn, sql string) ([]string, error) {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	var all []string
	for stmt.Step() {
		all = append(all, stmt.ColumnText(0))
	}
	return all, stmt.Err()
}
