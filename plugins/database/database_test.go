package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

// workspace is a folder with databases made by SQLite itself.
func workspace(t *testing.T) guest.Options {
	t.Helper()
	dir := t.TempDir()
	put := func(name, sql string) {
		conn, err := sqlite3.Open("file:" + filepath.ToSlash(filepath.Join(dir, name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Exec(sql); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	shop := `CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
		CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), amount REAL, note TEXT, photo BLOB);
		CREATE VIEW totals AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
		INSERT INTO customers VALUES (1, 'Ada'), (2, '王芳');
		INSERT INTO orders VALUES (1, 1, 9.5, 'two
lines', x'0102'), (2, 2, 20, NULL, NULL), (3, 1, 0.5, 'a|b', NULL);`
	put("shop.db", shop)
	put("wal.db", "PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1), (2); PRAGMA wal_checkpoint(TRUNCATE)")
	put("empty.db", "CREATE TABLE t (a); DROP TABLE t")
	put("numbers.db", "CREATE TABLE n (i); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000) INSERT INTO n SELECT i FROM c")
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("城市,金额\n北京,10\n上海,20\n")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "numbers.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"torn.db":    string(whole[:len(whole)/2]),
		"text.db":    "not a database",
		"sales.csv":  "city,amount,zip,when\nBerlin,10,01067,2026-01-01\nParis,20.5,75001,2026-02-01\nBerlin,,10115,2026-03-01\n",
		"semi.csv":   "a;b\n1,5;x\n2,5;y\n",
		"tabs.tsv":   "a\tb\n1\t2\n3\t4\n",
		"quoted.csv": "name,text\nAda,\"one, \"\"two\"\"\nthree\"\nBob,plain\n",
		"odd.csv":    "\xef\xbb\xbfid,id,,x\n1,2,3\n4,5,6,7,8\n",
		"gbk.csv":    gbk,
		"blank.csv":  "\n\n",
		"big.csv":    "n\n" + strings.Repeat("7\n", 3000),
		"long.csv":   "code\n12345678901234567890123\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return guest.Options{FS: map[string]fs.FS{files.Workspace: os.DirFS(dir)}}
}

type row struct{ in, want, why string }

func check[A any](t *testing.T, fn guest.Func[A], o guest.Options, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.why, func(t *testing.T) {
			out, err := guest.Invoke(fn, tt.in, o)
			if err != nil || out.Text != tt.want {
				t.Errorf("%s: %q, %v; want %q", tt.in, out.Text, err, tt.want)
			}
		})
	}
}

// A call may leave out the file if the operator has set one, and may call the statement
// query.
func TestDatabaseDefaultFile(t *testing.T) {
	o := workspace(t)
	if _, err := guest.Invoke(queryDatabase, `{"sql":"SELECT 1"}`, o); err == nil || !strings.Contains(err.Error(), "file_path") {
		t.Errorf("without a file: %v", err)
	}
	o.Config = map[string]string{"default_file": "shop.db"}
	if _, err := guest.Invoke(queryDatabase, `{"sql":"SELECT 1","query":"SELECT 2"}`, o); err == nil {
		t.Error("two statements are accepted")
	}
	check(t, queryDatabase, o, []row{
		{`{"query":"SELECT count(*) AS n FROM orders"}`, "n\n3\n", "the document's call"},
		{`{"file_path":"numbers.db","query":"SELECT min(i) AS i FROM n"}`, "i\n1\n", "a call that names a file"},
	})
}

func TestDatabase(t *testing.T) {
	check(t, queryDatabase, workspace(t), []row{
		{`{"file_path":"shop.db","sql":"SELECT name, count(*) AS n FROM orders JOIN customers c ON c.id = customer GROUP BY 1 ORDER BY n DESC"}`, "name | n\nAda | 2\n王芳 | 1\n", "a join"},
		{`{"file_path":"shop.db","sql":"SELECT note, photo, amount FROM orders ORDER BY id;"}`, "note | photo | amount\ntwo⏎lines | (2 bytes) | 9.5\nNULL | NULL | 20.0\na¦b | NULL | 0.5\n", "every kind of value stays on its line"},
		{`{"file_path":"shop.db","sql":"select * from orders where id > 9"}`, "id | customer | amount | note | photo\n(no rows)\n", "no rows"},
		{`{"file_path":"shop.db","sql":"WITH a AS (SELECT 1 AS x) SELECT x FROM a"}`, "x\n1\n", "WITH"},
		{`{"file_path":"wal.db","sql":"SELECT sum(a) FROM t"}`, "sum(a)\n3\n", "a database with a write-ahead log"},
		{`{"file_path":"numbers.db","sql":"SELECT i FROM n ORDER BY i","offset":997}`, "i\n998\n999\n1000\n", "the last page"},
		{`{"file_path":"shop.db","sql":"SELECT json_extract('{\"a\":[1,2]}', '$.a[1]') AS second"}`, "second\n2\n", "JSON"},
	})
}

func TestDescribeDatabase(t *testing.T) {
	o := workspace(t)
	out, err := guest.Invoke(queryDatabase, `{"file_path":"shop.db"}`, o)
	want := "table customers, 2 rows\n  id INTEGER primary key\n  name TEXT not null\ntable orders, 3 rows\n  id INTEGER primary key\n  customer INTEGER\n  amount REAL\n  note TEXT\n  photo BLOB\n  customer → customers.id\nview totals, 2 rows\n  customer INTEGER\n  total\n"
	if err != nil || out.Text != want || len(out.Sources) != 1 || out.Sources[0].URL != "shop.db" {
		t.Errorf("%q %v, %v; want %q", out.Text, out.Sources, err, want)
	}
	o.Locale = tool.Zh
	if out, err := guest.Invoke(queryDatabase, `{"file_path":"empty.db"}`, o); err != nil || out.Text != "数据库里没有表。\n" {
		t.Errorf("%q, %v", out.Text, err)
	}
}

func TestCSV(t *testing.T) {
	check(t, queryCSV, workspace(t), []row{
		{`{"file_path":"sales.csv","sql":"SELECT city, sum(amount) AS total, count(amount) AS n FROM data GROUP BY city ORDER BY total DESC"}`, "city | total | n\nParis | 20.5 | 1\nBerlin | 10.0 | 1\n", "groups; an empty field is no number"},
		{`{"file_path":"sales.csv","sql":"SELECT zip FROM data WHERE zip LIKE '0%'"}`, "zip\n01067\n", "a code keeps its zeros"},
		{`{"file_path":"sales.csv","sql":"SELECT city FROM data WHERE \"when\" >= '2026-02' ORDER BY 1"}`, "city\nBerlin\nParis\n", "dates compare as text"},
		{`{"file_path":"semi.csv","sql":"SELECT b FROM data"}`, "b\nx\ny\n", "semicolons, with commas in the numbers"},
		{`{"file_path":"tabs.tsv","sql":"SELECT sum(a * b) AS s FROM data"}`, "s\n14\n", "tabs"},
		{`{"file_path":"quoted.csv","sql":"SELECT text FROM data"}`, "text\none, \"two\"⏎three\nplain\n", "quotes"},
		{`{"file_path":"odd.csv","sql":"SELECT * FROM data"}`, "id | id_2 | c3 | x | c5\n1 | 2 | 3 | NULL | NULL\n4 | 5 | 6 | 7 | 8\n", "equal and missing names, rows of other lengths, a byte order mark"},
		{`{"file_path":"gbk.csv","sql":"SELECT sum(金额) AS 合计 FROM data WHERE 城市 <> '上海'"}`, "合计\n10\n", "as Chinese office programs save it"},
		{`{"csv":"1,2\n3,4","header":false,"sql":"SELECT c1 + c2 AS s FROM data"}`, "s\n3\n7\n", "without a header"},
		{`{"csv":"a~b\n1~2","delimiter":"~","sql":"SELECT b FROM data"}`, "b\n2\n", "another delimiter"},
		{`{"file_path":"long.csv","sql":"SELECT code FROM data"}`, "code\n12345678901234567890123\n", "a number beyond 64 bits keeps its digits"},
		{`{"file_path":"sales.csv"}`, "table data, 3 rows, 4 columns\n  \"city\" TEXT\n  \"amount\" REAL, 1 empty\n  \"zip\" TEXT\n  \"when\" TEXT\nfirst rows:\ncity | amount | zip | when\nBerlin | 10.0 | 01067 | 2026-01-01\nParis | 20.5 | 75001 | 2026-02-01\nBerlin | NULL | 10115 | 2026-03-01\n", "described"},
		{`{"csv":"a,b\n"}`, "table data, 0 rows, 2 columns\n  \"a\" TEXT\n  \"b\" TEXT\n", "names without rows"},
	})
}

func TestMore(t *testing.T) {
	o := workspace(t)
	out, err := guest.Invoke(queryCSV, `{"file_path":"big.csv","sql":"SELECT n FROM data","limit":10,"offset":20}`, o)
	if err != nil || out.More == nil || out.More.Shown != 10 || out.More.Total != 3000 || string(out.More.Args) != `{"offset":30}` {
		t.Errorf("%+v, %v", out.More, err)
	}
	if out.Entries == nil || len(out.Entries.Lines) != 10 || out.Entries.Lines[0] != 2 {
		t.Errorf("entries %+v", out.Entries)
	}
	endless := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
	out, err = guest.Invoke(queryDatabase, `{"file_path":"numbers.db","sql":"`+endless+`","limit":10}`, o)
	if err != nil || out.More == nil || out.More.Shown != 10 || out.More.Total != 0 {
		t.Errorf("rows without end: %+v, %v", out.More, err)
	}
}

// Every row is handed over whole, whatever the limits in force.
func TestAllRowsAreHandedOver(t *testing.T) {
	o := workspace(t)
	o.Limits = tool.Limits{MaxChars: 300, MaxLines: 2}
	out, err := guest.Invoke(queryDatabase, `{"file_path":"numbers.db","sql":"SELECT i FROM n"}`, o)
	if err != nil || out.More != nil || strings.Count(out.Text, "\n") != 1001 || len(out.Entries.Lines) != 1000 {
		t.Errorf("%+v, %d lines, %v", out.More, strings.Count(out.Text, "\n"), err)
	}
	out, err = guest.Invoke(queryDatabase, `{"file_path":"numbers.db","sql":"SELECT printf('%.*c', 5000, 'x') AS long FROM n LIMIT 2"}`, o)
	if want := strings.Repeat(strings.Repeat("x", 5000)+"\n", 2); err != nil || out.Text != "long\n"+want {
		t.Errorf("long values: %d characters, %v", len(out.Text), err)
	}
	out, err = guest.Invoke(queryDatabase, `{"file_path":"numbers.db","sql":"SELECT printf('%.*c', 100000, 'x') AS long FROM n"}`, o)
	if err != nil || out.More == nil || len(out.Text) > tool.MaxWhole || len(out.Text) < tool.MaxWhole-200_000 || out.More.Shown != len(out.Entries.Lines) || out.More.Total != 1000 {
		t.Errorf("more than the host keeps: %d bytes, %+v, %v", len(out.Text), out.More, err)
	}
}

func TestRefusals(t *testing.T) {
	o := workspace(t)
	for _, tt := range []struct {
		csv  bool
		in   string
		code tool.Code
		msg  string
	}{
		{false, `{"file_path":"shop.db","sql":"DELETE FROM orders"}`, tool.Denied, "only reads"},
		{false, `{"file_path":"shop.db","sql":"UPDATE orders SET amount = 1 RETURNING id"}`, tool.Denied, "only reads"},
		{false, `{"file_path":"shop.db","sql":"CREATE TEMP TABLE x (a)"}`, tool.Denied, "only reads"},
		{false, `{"file_path":"shop.db","sql":"PRAGMA journal_mode = wal"}`, tool.Denied, "only reads"},
		{false, `{"file_path":"shop.db","sql":"ATTACH 'wal.db' AS w"}`, tool.Denied, "only reads"},
		{false, `{"file_path":"shop.db","sql":"VACUUM INTO '/workspace/copy.db'"}`, tool.Denied, "only reads"},
		{false, `{"file_path":"shop.db","sql":"SELECT 1; SELECT 2"}`, tool.BadArgs, "several statements"},
		{false, `{"file_path":"shop.db","sql":"-- nothing"}`, tool.BadArgs, "no statement"},
		{false, `{"file_path":"shop.db","sql":"SELECT * FROM order"}`, tool.BadArgs, "cannot be run"},
		{false, `{"file_path":"shop.db","sql":"SELECT nosuch FROM orders"}`, tool.BadArgs, "nosuch"},
		{false, `{"file_path":"shop.db","sql":"SELECT * FROM orders","offset":99}`, tool.BadArgs, "3 rows; offset is 99"},
		{false, `{"file_path":"torn.db","sql":"SELECT count(*) FROM n"}`, tool.Failed, "damaged"},
		{false, `{"file_path":"text.db"}`, tool.BadArgs, "no SQLite database"},
		{false, `{"file_path":"none.db"}`, tool.BadArgs, "There is no"},
		{false, `{"file_path":"../x.db"}`, tool.Denied, ""},
		{true, `{}`, tool.BadArgs, "nothing to query"},
		{true, `{"file_path":"sales.csv","csv":"a"}`, tool.BadArgs, "Both"},
		{true, `{"file_path":"shop.db"}`, tool.BadArgs, "no CSV"},
		{true, `{"file_path":"blank.csv"}`, tool.Failed, "no rows"},
		{true, `{"file_path":"sales.csv","sql":"INSERT INTO data VALUES (1,2,3,4)"}`, tool.Denied, "only reads"},
		{true, `{"file_path":"sales.csv","sql":"ATTACH '/workspace/shop.db' AS s"}`, tool.Denied, "only reads"},
		{true, `{"file_path":"sales.csv","sql":"SELECT x FROM data"}`, tool.BadArgs, "x"},
		{true, `{"csv":"a","delimiter":"\""}`, tool.BadArgs, "cannot separate fields"},
		{true, `{"csv":"` + strings.Repeat(",", 600) + `"}`, tool.TooLarge, "601 columns"},
	} {
		var out guest.Output
		var err error
		if tt.csv {
			out, err = guest.Invoke(queryCSV, tt.in, o)
		} else {
			out, err = guest.Invoke(queryDatabase, tt.in, o)
		}
		e, ok := err.(*tool.Error)
		if !ok || e.Code != tt.code || !strings.Contains(e.Msg, tt.msg) {
			t.Errorf("%s: %q, %v; want %s, %s", tt.in, out.Text, err, tt.code, tt.msg)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("\"x\n")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := json.Marshal(csvArgs{CSV: "x" + text, SQL: "SELECT * FROM data"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := guest.Invoke(queryCSV, string(in), guest.Options{})
		if err == nil && out.Text == "" {
			t.Errorf("an empty answer to %q", text)
		}
	})
}
