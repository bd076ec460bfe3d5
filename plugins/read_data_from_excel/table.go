package main

import (
	"encoding/json"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	alignedColumns = 200      // rows of a wider table end with their last cell that holds something
	ownBytes       = 16 << 10 // room for the first line
)

// table is the part of a sheet that was read.
type table struct {
	sheet string
	start cell       // the first row that holds something, from the wanted cell on
	rows  [][]string // empty ones between others are kept, at the end dropped
	width int        // columns that hold something
	bytes int        // of the rows as they are written, at least
	more  bool       // there are rows after
	total int        // rows from start on; 0: more than were read, not known how many
}

// readTable reads row by row and stops when it has enough: reading one more
// row costs far more than finding the number of the last.
func readTable(book *excelize.File, sheet string, start cell, maxRows int) (*table, error) {
	rows, err := book.Rows(sheet)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	t := &table{sheet: sheet, start: start}
	for n := 1; rows.Next(); n++ {
		if len(t.rows) == maxRows && maxRows > 0 || len(t.rows) == tool.MaxEntries || t.bytes > tool.MaxWhole {
			t.more = true
			break
		}
		if n < start.row {
			continue
		}
		cells, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		t.add(n, cells[min(start.col-1, len(cells)):])
	}
	for len(t.rows) > 0 && len(t.rows[len(t.rows)-1]) == 0 && !t.more {
		t.rows = t.rows[:len(t.rows)-1]
	}
	switch {
	case !t.more:
		t.total = len(t.rows)
	default:
		t.total = max(lastRow(sheetXML(book, sheet))-t.start.row+1, 0)
	}
	return t, rows.Error()
}

// add takes row n in. Empty rows in front of the first that holds something
// are passed over.
func (t *table) add(n int, cells []string) {
	used := len(cells)
	for used > 0 && strings.TrimSpace(cells[used-1]) == "" {
		used--
	}
	if used == 0 && len(t.rows) == 0 {
		return
	}
	if len(t.rows) == 0 {
		t.start.row = n
	}
	t.rows = append(t.rows, cells[:used])
	t.width = max(t.width, used)
	for _, c := range cells[:used] {
		t.bytes += len(c)
	}
	t.bytes += 3 * max(used, min(t.width, alignedColumns))
}

// result writes the table after a line that says what it is.
func (t *table) result(c *guest.Call, sheets []string) guest.Result {
	if len(t.rows) == 0 {
		return guest.Text(c.Say(
			"Sheet \""+t.sheet+"\" holds nothing from "+t.start.name()+" on. Sheets: "+quoted(sheets)+".",
			"工作表 \""+t.sheet+"\" 从 "+t.start.name()+" 起没有数据。工作表有："+quoted(sheets)+"。"))
	}
	text := t.write()
	last := cell{t.start.col + t.width - 1, t.start.row + len(t.rows) - 1}
	area := t.start.name() + ":" + last.name()
	of, ofZh := "", ""
	if t.total > 0 {
		of, ofZh = " of "+guest.Grouped(t.total), guest.Grouped(t.total)+" 行中的 "
	}
	text.Head = c.Say(
		"Sheet \""+t.sheet+"\" of "+quoted(sheets)+", "+area+", "+guest.Grouped(len(t.rows))+of+" rows",
		"工作表 \""+t.sheet+"\"（共有 "+quoted(sheets)+"），"+area+"，"+ofZh+guest.Grouped(len(t.rows))+" 行") + "\n\n"
	r := text.Result()
	if t.more {
		r.More = &tool.More{Shown: len(t.rows), Total: t.total}
		next := cell{t.start.col, t.start.row + len(t.rows)}
		r.More.Args, _ = json.Marshal(map[string]string{"start_cell": next.name()})
	}
	return r
}

// write writes the rows as a table in Markdown, each an entry, the first as the heading. It
// drops those that are more than the host keeps.
func (t *table) write() *guest.List {
	l := &guest.List{}
	var b strings.Builder
	for i, row := range t.rows {
		b.Reset()
		width := t.width
		if width > alignedColumns && i > 0 {
			width = max(len(row), 1)
		}
		for col := range width {
			b.WriteString("| ")
			if col < len(row) {
				b.WriteString(escape.Replace(strings.TrimSpace(row[col])))
			}
			b.WriteString(" ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", t.width) + "|\n")
		}
		if !l.Fits(b.Len() + ownBytes) {
			t.rows, t.more = t.rows[:i], true
			break
		}
		l.Entry()
		l.WriteString(b.String())
	}
	return l
}

// escape keeps a cell on its line and in its column.
var escape = strings.NewReplacer("|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>")

// name writes a cell as people do: B3.
func (c cell) name() string {
	s, err := excelize.CoordinatesToCellName(c.col, c.row)
	if err != nil {
		return "A1" // only a place outside every sheet has no name
	}
	return s
}
