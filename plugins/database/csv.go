package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxCSV     = 32 << 20 // bytes of a file: as a table it takes about three times as much
	maxColumns = 500
)

type csvArgs struct {
	FilePath  string `json:"file_path"`
	CSV       string `json:"csv"`
	SQL       string `json:"sql"`
	Header    *bool  `json:"header"` // absent: true
	Delimiter string `json:"delimiter"`
	Offset    int    `json:"offset"`
	Limit     int    `json:"limit"` // 0: all
}

// queryCSV makes a table of the rows and runs a statement on it.
func queryCSV(c *guest.Call, in csvArgs) (guest.Result, error) {
	name, text, sources, err := in.input(c)
	if err != nil {
		return guest.Result{}, err
	}
	conn, err := sqlite3.OpenFlags(":memory:", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE|sqlite3.OPEN_MEMORY)
	if err != nil {
		return guest.Result{}, failure(name, err)
	}
	defer conn.Close()
	t := &table{name: name, conn: conn}
	if err := t.fill(text, in); err != nil {
		return guest.Result{}, err
	}
	if err := conn.Exec("PRAGMA query_only = 1"); err != nil {
		return guest.Result{}, failure(name, err)
	}
	q := query{conn: conn, name: name, sql: in.SQL, offset: in.Offset, limit: in.Limit}
	if strings.TrimSpace(in.SQL) == "" {
		r, err := t.describe(q, c.Say)
		r.Sources = sources
		return r, err
	}
	r, err := q.run(c.Say)
	r.Sources = sources
	return r, err
}

// input is the text of the table and where it comes from.
func (in csvArgs) input(c *guest.Call) (name, text string, sources []tool.Source, err error) {
	switch {
	case in.FilePath != "" && in.CSV != "":
		return "", "", nil, guest.Errorf(tool.BadArgs, "Leave one of them out.", "Both \"file_path\" and \"csv\" are given.").
			Zh("请去掉其中一个。", "同时给出了 \"file_path\" 和 \"csv\"。")
	case in.CSV != "":
		return "csv", in.CSV, nil, nil
	case in.FilePath == "":
		return "", "", nil, guest.Errorf(tool.BadArgs, "Give \"file_path\" or \"csv\".", "There is nothing to query.").
			Zh("请给出 \"file_path\" 或 \"csv\"。", "没有可查询的内容。")
	}
	tree := files.In(c, files.Workspace)
	name, info, err := tree.File(in.FilePath)
	if err != nil {
		return "", "", nil, err
	}
	if info.Size() > maxCSV {
		return "", "", nil, guest.Errorf(tool.TooLarge, "Ask for a part of it as a smaller file.", "%q has %s bytes; at most %s can be queried.", name, guest.Grouped(int(info.Size())), guest.Grouped(maxCSV)).
			Zh("请改用只含所需部分的较小文件。", "%q 有 %s 字节；最多可查询 %s 字节。")
	}
	f, err := tree.FS.Open(name)
	if err != nil {
		return "", "", nil, guest.Errorf(tool.Failed, "Go on without it.", "%q cannot be opened.", name).
			Zh("请不用它继续。", "无法打开 %q。")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCSV+1))
	if err != nil {
		return "", "", nil, guest.Errorf(tool.Failed, "Try again, or go on without it.", "%q cannot be read to its end.", name).
			Zh("请重试，或不用它继续。", "无法把 %q 读到末尾。")
	}
	if kind := files.Kind(b[:min(len(b), files.SniffBytes)]); !kind.IsZero() {
		return "", "", nil, guest.Errorf(tool.BadArgs, "Name a text file; read_data_from_excel reads .xlsx files, database reads SQLite files.", "%q is %s, no CSV.", name, kind).
			Zh("请指定文本文件；.xlsx 文件用 read_data_from_excel 读取，SQLite 文件用 database 读取。", "%q 是%s，不是 CSV。")
	}
	return name, decoded(files.Text(b)), []tool.Source{{Title: name, URL: name}}, nil
}

// decoded reads what is no UTF-8 as the encoding that Chinese office programs
// save CSV files in.
func decoded(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	if plain, err := simplifiedchinese.GB18030.NewDecoder().Bytes(b); err == nil && !strings.ContainsRune(string(plain), utf8.RuneError) {
		return string(plain)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// A table is the rows of a file as the table data.
type table struct {
	name    string
	conn    *sqlite3.Conn
	columns []column
	rows    int
}

// A column keeps the narrowest type that all its values have.
type column struct {
	name   string
	kind   string // INTEGER, REAL or TEXT
	filled int    // values that are not empty
}

// fill reads the rows twice: for the types, and into the table.
func (t *table) fill(text string, in csvArgs) error {
	comma, err := in.comma(text)
	if err != nil {
		return err
	}
	header := in.Header == nil || *in.Header
	if err := t.each(text, comma, header, t.learn); err != nil {
		return err
	}
	if t.rows == 0 && len(t.columns) == 0 {
		return guest.Errorf(tool.Failed, "Read the file to see what it holds.", "There are no rows in %q.", t.name).
			Zh("请读取该文件查看其内容。", "%q 中没有行。")
	}
	t.settle()
	defs, marks := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		defs[i], marks[i] = sqlite3.QuoteIdentifier(c.name)+" "+c.kind, "?"
	}
	if err := t.conn.Exec("CREATE TABLE data (" + strings.Join(defs, ", ") + "); BEGIN"); err != nil {
		return failure(t.name, err)
	}
	stmt, _, err := t.conn.Prepare("INSERT INTO data VALUES (" + strings.Join(marks, ", ") + ")")
	if err != nil {
		return failure(t.name, err)
	}
	defer stmt.Close()
	t.rows = 0
	err = t.each(text, comma, header, func(row []string, head bool) error {
		if head {
			return nil
		}
		return t.insert(stmt, row)
	})
	if err != nil {
		return err
	}
	if err := t.conn.Exec("COMMIT"); err != nil {
		return failure(t.name, err)
	}
	return nil
}

// comma finds the character between fields: the one that splits the first lines
// into most fields, all into the same number if there is such a one.
func (in csvArgs) comma(text string) (rune, error) {
	if in.Delimiter != "" {
		r, n := utf8.DecodeRuneInString(in.Delimiter)
		if n != len(in.Delimiter) || strings.ContainsRune("\"\r\n\uFFFD", r) {
			return 0, guest.Errorf(tool.BadArgs, "Give one character, such as \",\" or \";\".", "%q cannot separate fields.", in.Delimiter).
				Zh("请给出一个字符，如 \",\" 或 \";\"。", "%q 不能用来分隔字段。")
		}
		return r, nil
	}
	best, most := ',', 0
	for _, r := range ",\t;|" {
		reader := newReader(text, r)
		score, first := 0, 0
		for n := range 20 {
			row, err := reader.Read()
			if err != nil {
				break
			}
			if n == 0 {
				first = len(row)
				score = first * 100
			}
			if len(row) != first {
				score = first
			}
		}
		if first > 1 && score > most {
			best, most = r, score
		}
	}
	return best, nil
}

func newReader(text string, comma rune) *csv.Reader {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = comma, -1, true, true
	return r
}

// each calls f for the rows; head is true for the row of names.
func (t *table) each(text string, comma rune, header bool, f func(row []string, head bool) error) error {
	reader := newReader(text, comma)
	for first := true; ; first = false {
		row, err := reader.Read()
		if err == io.EOF {
			return nil
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return guest.Errorf(tool.Failed, "Read the file around that line.", "Line %d of %q cannot be read as CSV: %s.", bad.Line, t.name, bad.Err).
				Zh("请读取该行附近的内容。", "%[2]q 的第 %[1]d 行无法按 CSV 读取：%[3]s。")
		}
		if err != nil {
			return err
		}
		if len(row) > maxColumns {
			return guest.Errorf(tool.TooLarge, "Give the delimiter, if it is another one.", "A row of %q has %s columns; at most %d are read.", t.name, guest.Grouped(len(row)), maxColumns).
				Zh("如果分隔符不同，请指明。", "%q 的一行有 %s 列；最多读取 %d 列。")
		}
		if err := f(row, first && header); err != nil {
			return err
		}
	}
}

// Whole numbers with leading zeros are codes, and those beyond 64 bits too.
var (
	integer = regexp.MustCompile(`^[+-]?(0|[1-9]\d{0,17})$`)
	real    = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	code    = regexp.MustCompile(`^[+-]?(0\d|\d{19})`)
)

// learn widens the columns by a row.
func (t *table) learn(row []string, head bool) error {
	if !head {
		t.rows++
	}
	for i, v := range row {
		if i == len(t.columns) {
			t.columns = append(t.columns, column{kind: "INTEGER"})
		}
		c := &t.columns[i]
		v = strings.TrimSpace(v)
		switch {
		case head:
			c.name = v
		case v == "":
		case c.kind == "TEXT":
			c.filled++
		case integer.MatchString(v):
			c.filled++
		case real.MatchString(v) && !code.MatchString(v):
			c.filled++
			c.kind = "REAL"
		default:
			c.filled++
			c.kind = "TEXT"
		}
	}
	return nil
}

// settle gives every column a name of its own and a type.
func (t *table) settle() {
	taken := make(map[string]bool)
	for i := range t.columns {
		c := &t.columns[i]
		if c.filled == 0 {
			c.kind = "TEXT"
		}
		base := strings.Join(strings.Fields(c.name), " ")
		if base == "" {
			base = "c" + strconv.Itoa(i+1)
		}
		c.name = base
		for n := 2; taken[strings.ToLower(c.name)]; n++ {
			c.name = base + "_" + strconv.Itoa(n)
		}
		taken[strings.ToLower(c.name)] = true
	}
}

// insert adds a row; empty fields are NULL, so that sums and counts pass over
// them.
func (t *table) insert(stmt *sqlite3.Stmt, row []string) error {
	t.rows++
	var errs []error
	for i, c := range t.columns {
		v := ""
		if i < len(row) {
			v = row[i]
		}
		switch {
		case strings.TrimSpace(v) == "":
			errs = append(errs, stmt.BindNull(i+1))
		case c.kind == "TEXT":
			errs = append(errs, stmt.BindText(i+1, v))
		default: // the column's type makes a number of it
			errs = append(errs, stmt.BindText(i+1, strings.TrimSpace(v)))
		}
	}
	errs = append(errs, stmt.Exec())
	if err := errors.Join(errs...); err != nil {
		return failure(t.name, err)
	}
	return nil
}

// describe lists the columns and shows the first rows.
func (t *table) describe(q query, say func(en, zh string) string) (guest.Result, error) {
	var b strings.Builder
	fmt.Fprintf(&b, say("table data, %s rows, %d columns\n", "表 data，%s 行，%d 列\n"), guest.Grouped(t.rows), len(t.columns))
	for _, c := range t.columns {
		fmt.Fprintf(&b, "  %s %s", cell(sqlite3.QuoteIdentifier(c.name)), c.kind)
		if empty := t.rows - c.filled; empty > 0 {
			fmt.Fprintf(&b, say(", %s empty", "，%s 个为空"), guest.Grouped(empty))
		}
		b.WriteByte('\n')
	}
	if t.rows == 0 {
		return guest.Text(b.String()), nil
	}
	q.sql, q.offset, q.limit = "SELECT * FROM data LIMIT 5", 0, 5
	rows, err := q.run(say)
	return guest.Text(b.String() + say("first rows:\n", "前几行：\n") + rows.Text), err
}
