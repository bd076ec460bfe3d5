package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// workbook makes an .xlsx; each sheet is written as CSV.
func workbook(t rapid.TB, sheets ...[2]string) *excelize.File {
	book := excelize.NewFile()
	for i, s := range sheets {
		if i == 0 {
			check(t, book.SetSheetName("Sheet1", s[0]))
		} else if _, err := book.NewSheet(s[0]); err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(strings.NewReader(s[1]))
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		check(t, err)
		for n, row := range rows {
			check(t, book.SetSheetRow(s[0], fmt.Sprintf("A%d", n+1), &row))
		}
	}
	return book
}

func check(t rapid.TB, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// saved puts a workbook into a workspace as book.xlsx.
func saved(t rapid.TB, book *excelize.File) guest.Options {
	var b bytes.Buffer
	if _, err := book.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return workspace(map[string]string{"sub/book.xlsx": b.String()})
}

func workspace(files map[string]string) guest.Options {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return guest.Options{FS: map[string]fs.FS{"/workspace": m}}
}

func TestRead(t *testing.T) {
	o := saved(t, workbook(t,
		[2]string{"销售", "名称,数量,备注\n苹果,3,红|甜\n梨,,\"two\nlines\"\n,,\n桃,5,\n"},
		[2]string{"Data 2", "a,b\n1,2\n3,4\n5,6\n"},
		[2]string{"Empty", ""},
	))
	const sheets = `"销售", "Data 2", "Empty"`
	for _, tt := range []struct{ args, want, why string }{
		{
			`{"filepath":"sub/book.xlsx"}`,
			"Sheet \"销售\" of " + sheets + ", A1:C5, 5 of 5 rows\n\n| 名称 | 数量 | 备注 |\n| --- | --- | --- |\n| 苹果 | 3 | 红\\|甜 |\n| 梨 |  | two<br>lines |\n|  |  |  |\n| 桃 | 5 |  |\n",
			"the first sheet; cells keep their line and column, empty rows between stay",
		},
		{
			`{"filepath":"sub/book.xlsx","sheet_name":"data 2"}`,
			"Sheet \"Data 2\" of " + sheets + ", A1:B4, 4 of 4 rows\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
			"a sheet by its name, in any case",
		},
		{
			`{"filepath":"sub/book.xlsx","sheet_name":"Data 2","start_cell":"b3"}`,
			"Sheet \"Data 2\" of " + sheets + ", B3:B4, 2 of 2 rows\n\n| 4 |\n| --- |\n| 6 |\n",
			"from a cell on, right and down",
		},
		{
			`{"filepath":"sub/book.xlsx","sheet_name":"Data 2","start_cell":"$A$2","max_rows":1}`,
			"Sheet \"Data 2\" of " + sheets + ", A2:B2, 1 of 3 rows\n\n| 1 | 2 |\n| --- | --- |\n",
			"some rows, a cell as a formula writes it",
		},
		{`{"filepath":"sub/book.xlsx","sheet_name":"Empty"}`, "Sheet \"Empty\" holds nothing from A1 on. Sheets: " + sheets + ".", "an empty sheet says so"},
		{`{"filepath":"sub/book.xlsx","sheet_name":"Data 2","start_cell":"Z99"}`, "Sheet \"Data 2\" holds nothing from Z99 on. Sheets: " + sheets + ".", "behind everything"},
	} {
		out, err := guest.Invoke(read, tt.args, o)
		if d := cmp.Diff(tt.want, out.Text); err != nil || d != "" {
			t.Errorf("%s: %s: %v %s", tt.why, tt.args, err, d)
		}
		if err == nil && (len(out.Sources) != 1 || out.Sources[0].URL != "sub/book.xlsx") {
			t.Errorf("%s: sources %v", tt.why, out.Sources)
		}
	}
}

func TestCellsAsExcelShowsThem(t *testing.T) {
	book := excelize.NewFile()
	percent, err := book.NewStyle(&excelize.Style{NumFmt: 10})
	check(t, err)
	date, err := book.NewStyle(&excelize.Style{CustomNumFmt: new("yyyy-mm-dd")})
	check(t, err)
	check(t, book.SetCellValue("Sheet1", "A1", 0.125))
	check(t, book.SetCellStyle("Sheet1", "A1", "A1", percent))
	check(t, book.SetCellValue("Sheet1", "B1", time.Date(2025, 11, 23, 0, 0, 0, 0, time.UTC)))
	check(t, book.SetCellStyle("Sheet1", "B1", "B1", date))
	check(t, book.SetCellValue("Sheet1", "C1", true))
	check(t, book.SetCellValue("Sheet1", "D1", 12345678901234))
	check(t, book.SetCellRichText("Sheet1", "E1", []excelize.RichTextRun{{Text: "rich "}, {Text: "text"}}))
	out, err := guest.Invoke(read, `{"filepath":"sub/book.xlsx"}`, saved(t, book))
	if _, got, _ := strings.Cut(out.Text, "\n\n"); err != nil || !strings.HasPrefix(got, "| 12.50% | 2025-11-23 | TRUE | 12345678901234 | rich text |\n") {
		t.Errorf("%v %q", err, got)
	}
}

func TestChinese(t *testing.T) {
	o := saved(t, workbook(t, [2]string{"表", "a\nb\n"}, [2]string{"空", ""}))
	o.Locale = tool.Zh
	out, err := guest.Invoke(read, `{"filepath":"sub/book.xlsx","max_rows":1}`, o)
	if err != nil || !strings.HasPrefix(out.Text, "工作表 \"表\"（共有 \"表\", \"空\"），A1:A1，2 行中的 1 行\n") {
		t.Errorf("%v %q", err, out.Text)
	}
	out, err = guest.Invoke(read, `{"filepath":"sub/book.xlsx","sheet_name":"空"}`, o)
	if err != nil || !strings.HasPrefix(out.Text, "工作表 \"空\" 从 A1 起没有数据。") {
		t.Errorf("%v %q", err, out.Text)
	}
}

// TestPages: following `more` shows every row once, whatever the page's size.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, page := rapid.IntRange(1, 30).Draw(t, "rows"), rapid.IntRange(1, 12).Draw(t, "page")
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "r%d,x\n", i+1)
		}
		o := saved(t, workbook(t, [2]string{"S", text.String()}))
		start, got := "A1", 0
		for start != "" {
			out, err := guest.Invoke(read, fmt.Sprintf(`{"filepath":"sub/book.xlsx","start_cell":%q,"max_rows":%d}`, start, page), o)
			if err != nil {
				t.Fatal(err)
			}
			shown := strings.Count(out.Text, "| r")
			if !strings.Contains(out.Text, fmt.Sprintf("| r%d | x |\n", got+1)) {
				t.Fatalf("from %s: row %d is missing in %q", start, got+1, out.Text)
			}
			got += shown
			start = ""
			if out.More != nil {
				if out.More.Shown != shown || out.More.Total != n-got+shown {
					t.Fatalf("more %+v with %d of %d rows so far", out.More, got, n)
				}
				fmt.Sscanf(string(out.More.Args), `{"start_cell":%q}`, &start)
			}
		}
		if got != n {
			t.Fatalf("%d of %d rows", got, n)
		}
	})
}

func TestRowsFarDown(t *testing.T) {
	book := excelize.NewFile()
	check(t, book.SetSheetName("Sheet1", "A & <B>"))
	for _, row := range []int{1500, 1502, 4000} {
		check(t, book.SetCellValue("A & <B>", fmt.Sprintf("C%d", row), row))
	}
	o := saved(t, book)
	out, err := guest.Invoke(read, `{"filepath":"sub/book.xlsx","start_cell":"B2"}`, o)
	if err != nil || !strings.HasPrefix(out.Text, "Sheet \"A & <B>\" of \"A & <B>\", B1500:C4000, 2,501 of 2,501 rows\n\n|  | 1500 |\n") {
		t.Errorf("empty rows in front are passed over: %v %.120q", err, out.Text)
	}
	if out.More != nil || out.Entries == nil || len(out.Entries.Lines) != 2501 || out.Entries.Lines[0] != 3 || out.Entries.Lines[1] != 5 {
		t.Errorf("more %+v, entries %+v", out.More, out.Entries)
	}
	out, err = guest.Invoke(read, `{"filepath":"sub/book.xlsx","start_cell":"B2","max_rows":1000}`, o)
	if err != nil || out.More == nil || out.More.Total != 2501 || string(out.More.Args) != `{"start_cell":"B2500"}` {
		t.Errorf("%v, more %+v", err, out.More)
	}
}

func TestLastRow(t *testing.T) {
	for _, tt := range []struct {
		xml  string
		want int
		why  string
	}{
		{`<sheetData><row r="1"><c/></row><row r="7" spans="1:2"><c r="A7"/></row></sheetData>`, 7, "the last"},
		{`<row spans="1:2" r="12"/>`, 12, "in any order"},
		{`<row><c r="A3"/></row>`, 0, "not written: the cell's own is not taken for it"},
		{`<row r="99999999999"/>`, 0, "absurd"},
		{``, 0, "nothing"},
	} {
		if got := lastRow([]byte(tt.xml)); got != tt.want {
			t.Errorf("%s: lastRow(%s) = %d, want %d", tt.why, tt.xml, got, tt.want)
		}
	}
}

func TestTotalThatIsNotKnown(t *testing.T) {
	table := &table{sheet: "S", start: cell{1, 1}, rows: [][]string{{"a"}}, width: 1, more: true}
	out, err := guest.Invoke(func(c *guest.Call, _ struct{}) (guest.Result, error) {
		return table.result(c, []string{"S"}), nil
	}, `{}`, guest.Options{})
	if err != nil || !strings.HasPrefix(out.Text, "Sheet \"S\" of \"S\", A1:A1, 1 rows\n") || out.More == nil || out.More.Total != 0 {
		t.Errorf("%v %q %+v", err, out.Text, out.More)
	}
}

func TestWideSheet(t *testing.T) {
	row := make([]string, alignedColumns+7)
	for i := range row {
		row[i] = "x"
	}
	out, err := guest.Invoke(read, `{"filepath":"sub/book.xlsx"}`, saved(t, workbook(t, [2]string{"S", strings.Join(row, ",") + "\ny,,z\n"})))
	if err != nil || !strings.Contains(out.Text, "A1:GY2, 2 of 2 rows\n") || strings.Count(out.Text, "| x") != len(row) || !strings.HasSuffix(out.Text, "\n| y |  | z |\n") {
		t.Errorf("%v %.200q", err, out.Text)
	}
}

// More rows than the host keeps are left for the next call.
func TestMoreThanTheHostKeeps(t *testing.T) {
	table := &table{sheet: "S", start: cell{1, 1}, width: 1, total: 10_000}
	for range 10_000 {
		table.rows = append(table.rows, []string{strings.Repeat("|", 500)})
	}
	out, err := guest.Invoke(func(c *guest.Call, _ struct{}) (guest.Result, error) {
		return table.result(c, []string{"S"}), nil
	}, `{}`, guest.Options{})
	if err != nil || len(out.Text) > tool.MaxWhole || out.More == nil || out.More.Shown != len(out.Entries.Lines) || out.More.Total != 10_000 ||
		string(out.More.Args) != fmt.Sprintf(`{"start_cell":"A%d"}`, out.More.Shown+1) {
		t.Errorf("%v, %d bytes, %+v", err, len(out.Text), out.More)
	}
}

func TestRefuses(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("other.txt")
	check(t, err)
	fmt.Fprint(w, "no workbook")
	check(t, z.Close())
	var protected bytes.Buffer
	check(t, excelize.NewFile().Write(&protected, excelize.Options{Password: "secret"}))

	o := saved(t, workbook(t, [2]string{"One", "a"}, [2]string{"Two", "b"}))
	m := o.FS["/workspace"].(fstest.MapFS)
	m["plain.csv"] = &fstest.MapFile{Data: []byte("a,b\n")}
	m["old.xls"] = &fstest.MapFile{Data: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600))}
	m["locked.xlsx"] = &fstest.MapFile{Data: protected.Bytes()}
	m["packed.xlsx"] = &fstest.MapFile{Data: packed.Bytes()}
	m["damaged.xlsx"] = &fstest.MapFile{Data: m["sub/book.xlsx"].Data[:500]}
	m["large.xlsx"] = &fstest.MapFile{Data: make([]byte, maxFile+1)}
	m["bomb.xlsx"] = &fstest.MapFile{Data: bomb(t)}
	for _, tt := range []struct {
		args, says string
		code       tool.Code
		why        string
	}{
		{`{"filepath":"book.xlsx"}`, "sub/book.xlsx", tool.BadArgs, "a near name"},
		{`{"filepath":"sub"}`, "folder", tool.BadArgs, "a folder"},
		{`{"filepath":"../book.xlsx"}`, "leaves", tool.Denied, "outside"},
		{`{"filepath":"sub/book.xlsx","sheet_name":"Three"}`, `"One", "Two"`, tool.BadArgs, "a wrong sheet lists the sheets"},
		{`{"filepath":"sub/book.xlsx","start_cell":"1A"}`, `"B3"`, tool.BadArgs, "a cell that is none"},
		{`{"filepath":"sub/book.xlsx","start_cell":"ZZZZ1"}`, "no cell", tool.BadArgs, "a cell outside every sheet"},
		{`{"filepath":"sub/book.xlsx","max_rows":20001}`, "20,000", tool.BadArgs, "too many rows"},
		{`{"filepath":"sub/book.xlsx","max_rows":-1}`, "20,000", tool.BadArgs, "negative rows"},
		{`{"filepath":"plain.csv"}`, "read_file", tool.BadArgs, "a text file"},
		{`{"filepath":"old.xls"}`, "Save it as .xlsx", tool.BadArgs, "an old workbook"},
		{`{"filepath":"locked.xlsx"}`, "password", tool.BadArgs, "a workbook with a password"},
		{`{"filepath":"packed.xlsx"}`, "not an Excel workbook", tool.BadArgs, "another archive"},
		{`{"filepath":"damaged.xlsx"}`, "damaged", tool.BadArgs, "half a workbook"},
		{`{"filepath":"large.xlsx"}`, "CSV", tool.TooLarge, "a large one"},
		{`{"filepath":"bomb.xlsx"}`, "unpacks", tool.TooLarge, "one that unpacks to very much"},
	} {
		_, err := guest.Invoke(read, tt.args, o)
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %s gives %v", tt.why, tt.args, err)
		}
	}
}

// bomb is a small archive of one sheet that unpacks to 60 MB.
func bomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("xl/worksheets/sheet1.xml")
	check(t, err)
	block := make([]byte, 1<<20)
	for range 60 {
		_, err := w.Write(block)
		check(t, err)
	}
	check(t, z.Close())
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	o := saved(b, workbook(b, [2]string{"S", strings.Repeat("name,12345,some text in a cell,2025-01-01\n", 5000)}))
	for b.Loop() {
		if _, err := guest.Invoke(read, `{"filepath":"sub/book.xlsx","max_rows":5000}`, o); err != nil {
			b.Fatal(err)
		}
	}
}

// closed shows files that may not be opened, or break while they are read.
type closed struct{ fs.FS }

func (c closed) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	switch {
	case err != nil:
		return nil, err
	case name == "hidden.xlsx":
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	case name == "odd.xlsx":
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("I/O error")}
	case name == "shut.xlsx":
		return shut{f}, nil
	}
	return f, nil
}

func (c closed) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

type shut struct{ fs.File }

func (shut) Read([]byte) (int, error) { return 0, fs.ErrPermission }

// A model that is denied a workbook must not try again.
func TestReadOfWhatIsClosed(t *testing.T) {
	m := fstest.MapFS{}
	for _, name := range []string{"hidden.xlsx", "odd.xlsx", "shut.xlsx"} {
		m[name] = &fstest.MapFile{Data: []byte("secret")}
	}
	o := guest.Options{FS: map[string]fs.FS{"/workspace": closed{m}}}
	for name, code := range map[string]tool.Code{"hidden.xlsx": tool.Denied, "shut.xlsx": tool.Denied, "odd.xlsx": tool.Failed} {
		_, err := guest.Invoke(read, fmt.Sprintf(`{"filepath":%q}`, name), o)
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != code || e.Hint == "" || !strings.Contains(e.Msg, name) {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
}
