package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxCounted = 200_000 // rows that are read for their number alone
)

// A query is one statement to run and the part of its rows that is asked for.
type query struct {
	conn   *sqlite3.Conn
	name   string // of the file
	sql    string
	offset int
	limit  int // 0: all
}

// run writes the rows as lines, each an entry, with the names of the columns before them.
func (q query) run(say func(en, zh string) string) (guest.Result, error) {
	stmt, tail, err := q.conn.Prepare(q.sql)
	if err != nil {
		return guest.Result{}, q.refused(err)
	}
	defer stmt.Close()
	if err := single(stmt, tail); err != nil {
		return guest.Result{}, err
	}
	var b guest.List
	names := make([]string, stmt.ColumnCount())
	for i := range names {
		names[i] = cell(stmt.ColumnName(i))
	}
	b.WriteString(strings.Join(names, " | ") + "\n")
	seen, shown, ended := 0, 0, true
	for stmt.Step() {
		if seen++; seen <= q.offset {
			continue
		}
		for i := range names {
			names[i] = value(stmt, i, say)
		}
		row := strings.Join(names, " | ") + "\n"
		if shown == q.limit && q.limit > 0 || !b.Fits(len(row)) {
			ended = q.count(stmt, &seen)
			break
		}
		shown++
		b.Entry()
		b.WriteString(row)
	}
	if err := stmt.Err(); err != nil && seen == q.offset+shown {
		return guest.Result{}, failure(q.name, err)
	}
	switch {
	case shown == 0 && seen > 0:
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Ask from a smaller offset.", "The statement gives %s rows; offset is %d.", guest.Grouped(seen), q.offset).
			Zh("请使用较小的 offset。", "语句得到 %s 行；offset 是 %d。")
	case shown == 0:
		b.WriteString(say("(no rows)\n", "（没有行）\n"))
	}
	r := b.Result()
	if seen > q.offset+shown {
		next, err := json.Marshal(map[string]int{"offset": q.offset + shown})
		if err != nil {
			return r, err
		}
		r.More = &tool.More{Shown: shown, Args: next}
		if ended {
			r.More.Total = seen
		}
	}
	return r, nil
}

// count reads the rows that were not asked for, for their number. It reports whether
// that were all.
func (q query) count(stmt *sqlite3.Stmt, seen *int) bool {
	for stmt.Step() {
		if *seen++; *seen >= maxCounted {
			return false
		}
	}
	return stmt.Err() == nil
}

// single refuses what is no reading statement, and more than one of them.
func single(stmt *sqlite3.Stmt, tail string) error {
	switch {
	case stmt == nil:
		return guest.Errorf(tool.BadArgs, "Write a SELECT.", "There is no statement in \"sql\".").
			Zh("请写一条 SELECT。", "\"sql\" 中没有语句。")
	case strings.Trim(tail, "; \t\r\n") != "":
		return guest.Errorf(tool.BadArgs, "Send them one by one.", "There are several statements in \"sql\".").
			Zh("请逐条发送。", "\"sql\" 中有多条语句。")
	case !stmt.ReadOnly() || stmt.ColumnCount() == 0 || attach.MatchString(stmt.SQL()):
		return guest.Errorf(tool.Denied, "Write a SELECT.", "This tool only reads.").Zh("请写一条 SELECT。", "该工具只能读取。")
	}
	return nil
}

// attach opens other files; what may be read has a tool argument for it.
var attach = regexp.MustCompile(`(?i)^\s*(attach|detach)\b`)

// refused adds to a statement that cannot be understood what there is.
func (q query) refused(err error) error {
	tables, listErr := list(q.conn, `SELECT name FROM sqlite_schema WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%' UNION SELECT name FROM sqlite_temp_schema WHERE type = 'table' ORDER BY 1 LIMIT 40`)
	hint, zh := "Call it without sql to see tables and columns.", "不带 sql 调用可查看表和列。"
	if listErr == nil && len(tables) > 0 {
		hint, zh = "There are: "+strings.Join(tables, ", ")+". "+hint, "现有的表："+strings.Join(tables, "、")+"。"+zh
	}
	if e, ok := errors.AsType[*sqlite3.Error](err); ok && e.Code() == sqlite3.ERROR {
		return guest.Errorf(tool.BadArgs, hint, "The statement cannot be run: %s.", words(e)).Zh(zh, "语句无法执行：%s。")
	}
	return failure(q.name, err)
}

// failure is an error of the database at hand.
func failure(name string, err error) error {
	code, ok := errors.AsType[sqlite3.ErrorCode](err)
	if e, whole := errors.AsType[*sqlite3.Error](err); whole {
		code, ok = e.Code(), true
	} else if e, extended := errors.AsType[sqlite3.ExtendedErrorCode](err); extended {
		code, ok = e.Code(), true
	}
	switch {
	case !ok:
		return guest.Errorf(tool.Failed, "Go on without it.", "%q cannot be read as a database.", name).
			Zh("请不用它继续。", "无法把 %q 作为数据库读取。")
	case code == sqlite3.NOTADB || code == sqlite3.CORRUPT || code == sqlite3.IOERR:
		return guest.Errorf(tool.Failed, "Go on without it, or ask for another copy.", "%q is damaged: %s.", name, words(err)).
			Zh("请不用它继续，或改用另一份副本。", "%q 已损坏：%s。")
	case code == sqlite3.NOMEM || code == sqlite3.TOOBIG:
		return guest.Errorf(tool.OutOfMemory, "Ask for less at once: fewer columns, a WHERE, no large sort.", "The statement needs more memory than there is.").
			Zh("请减少一次查询的内容：更少的列、加 WHERE、不做大排序。", "语句需要的内存超过限制。")
	case code == sqlite3.CANTOPEN || code == sqlite3.READONLY || code == sqlite3.AUTH:
		return guest.Errorf(tool.Denied, "Write a SELECT.", "This tool only reads, and only the one file.").
			Zh("请写一条 SELECT。", "该工具只能读取，且只能读取这一个文件。")
	}
	return guest.Errorf(tool.Failed, "Change the statement.", "The statement fails: %s.", words(err)).
		Zh("请修改语句。", "语句执行失败：%s。")
}

// words is SQLite's message without its own name and code.
func words(err error) string {
	text := err.Error()
	for _, front := range []string{"sqlite3: ", "SQL logic error: ", "database disk image is malformed: "} {
		text = strings.TrimPrefix(text, front)
	}
	return strings.TrimSuffix(text, ".")
}

// value writes one value of the current row.
func value(stmt *sqlite3.Stmt, i int, say func(en, zh string) string) string {
	switch stmt.ColumnType(i) {
	case sqlite3.NULL:
		return "NULL"
	case sqlite3.BLOB:
		return fmt.Sprintf(say("(%s bytes)", "（%s 字节）"), guest.Grouped(len(stmt.ColumnRawBlob(i))))
	case sqlite3.INTEGER:
		return strconv.FormatInt(stmt.ColumnInt64(i), 10)
	}
	return cell(stmt.ColumnText(i))
}

// cell keeps a value on its line.
func cell(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "|", "¦").Replace(s)
}
