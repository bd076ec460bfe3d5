package soak

import (
	"archive/zip"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/sdk/tool"
)

// paths are files and folders of the workspace, and some that are not.
var paths = []string{".", "src", "src/a.go", "src/b.py", "src/deep/c.ts", "notes.md", "long.txt", "table.xlsx", "table.csv", "data.json", "empty", "none.txt", "../secret", "/etc/passwd", "src/../notes.md"}

// workspace makes the folder that the tools see.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"src/a.go":      "package a\n\n// ErrTimeout says so.\nvar ErrTimeout = errors.New(\"timeout\")\n\ntype Session struct{}\n\nfunc (s *Session) Call() error { return ErrTimeout }\n",
		"src/b.py":      "def call(x):\n    \"\"\"Call it.\"\"\"\n    return x\n\nclass Session:\n    pass\n",
		"src/deep/c.ts": "export interface Session { id: string }\nexport function call(s: Session): string { return s.id }\n",
		"notes.md":      "# Notes\n\n" + strings.Repeat("Some words, 一些字, and a 🦉.\n", 40),
		"long.txt":      strings.Repeat("a line that is like all others and says error now and then\n", 3000),
		"table.csv":     "name,amount\nA,1\nB,2\n\"C, D\",3\n",
		"data.json":     `{"a":[{"n":1,"s":"x"},{"n":2,"s":"一"}],"b":null}`,
		"empty":         "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	workbook(t, filepath.Join(dir, "table.xlsx"))
	return dir
}

// workbook writes one sheet of numbers and words.
func workbook(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const head = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	const main, rel = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	var rows strings.Builder
	for i := 1; i <= 50; i++ {
		fmt.Fprintf(&rows, `<row r="%d"><c r="A%[1]d"><v>%[1]d</v></c><c r="B%[1]d" t="inlineStr"><is><t>word %[1]d</t></is></c></row>`, i)
	}
	z := zip.NewWriter(f)
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + rel + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="` + main + `" xmlns:r="` + rel + `"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + rel + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", `<worksheet xmlns="` + main + `"><sheetData>` + rows.String() + `</sheetData></worksheet>`},
	} {
		w, err := z.Create(part[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(head + part[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// web answers the same question always in the same way.
type web struct{}

// Do implements sandbox.Sender.
func (web) Do(_ context.Context, r egress.Request) (egress.Response, *tool.Error) {
	h := fnv.New32()
	fmt.Fprint(h, r.Method, r.URL, string(r.Body))
	n := h.Sum32()
	if n%7 == 0 {
		return egress.Response{}, tool.Errorf(tool.Denied, "", "this host is not granted")
	}
	res := egress.Response{Status: 200, URL: r.URL, Headers: map[string]string{"Content-Type": "text/html; charset=utf-8"}}
	if n%5 == 0 {
		res.Status = 500
	}
	if strings.Contains(r.URL, "tavily") {
		res.Headers["Content-Type"] = "application/json"
		res.Body = fmt.Appendf(nil, `{"answer":"%d","results":[{"title":"T","url":"https://example.org/%[1]d","content":"words"},{"title":"U","url":"https://example.org/u","content":"more"}]}`, n)
		return res, nil
	}
	res.Body = fmt.Appendf(nil, "<html><head><title>%d</title></head><body>%s</body></html>", n, strings.Repeat("<h2>Names</h2><p>Some <b>words</b> and 一些字.</p><ul><li>one<li>two</ul>", int(n%40)))
	return res, nil
}
