package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultRows = 1000
	highestRows = 20000
	maxFile     = 8 << 20  // bytes of a workbook
	maxUnzipped = 48 << 20 // bytes of what is packed in it
)

type args struct {
	FilePath  string `json:"filepath"`
	SheetName string `json:"sheet_name"` // empty: the first
	StartCell string `json:"start_cell"` // empty: A1
	MaxRows   int    `json:"max_rows"`   // 0: 1,000
}

// read gives the cells from start_cell on, right and down, as a table.
func read(c *guest.Call, in args) (guest.Result, error) {
	start, err := in.start()
	if err != nil {
		return guest.Result{}, err
	}
	tree := files.In(c, files.Workspace)
	name, info, err := tree.File(in.FilePath)
	if err != nil {
		return guest.Result{}, err
	}
	if info.Size() > maxFile {
		return guest.Result{}, guest.Errorf(tool.TooLarge, "Split the workbook or save the sheet as CSV.",
			"%q has %s bytes; at most %s are read.", name, guest.Grouped(int(info.Size())), guest.Grouped(maxFile))
	}
	book, err := open(tree, name)
	if err != nil {
		return guest.Result{}, err
	}
	defer book.Close()
	sheet, err := chooseSheet(book, in.SheetName)
	if err != nil {
		return guest.Result{}, err
	}
	t, err := readTable(book, sheet, start, in.MaxRows)
	if err != nil {
		return guest.Result{}, guest.Errorf(tool.Failed, "Open it in Excel and save it again.", "Sheet %q of %q cannot be read.", sheet, name)
	}
	r := t.result(c, book.GetSheetList())
	r.Sources = []tool.Source{{Title: path.Base(name) + " · " + sheet, URL: name}}
	return r, nil
}

// cell is a place in a sheet, column and row counted from 1.
type cell struct{ col, row int }

func (in *args) start() (cell, error) {
	if in.MaxRows < 0 || in.MaxRows > highestRows {
		return cell{}, guest.Errorf(tool.BadArgs, "Leave it out for 1,000 rows.", "\"max_rows\" must be 1 to %s.", guest.Grouped(highestRows))
	}
	if in.MaxRows == 0 {
		in.MaxRows = defaultRows
	}
	written := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(in.StartCell), "$", ""))
	if written == "" {
		return cell{1, 1}, nil
	}
	col, row, err := excelize.CellNameToCoordinates(written)
	if err != nil {
		return cell{}, guest.Errorf(tool.BadArgs, "Write a column and a row, for example \"B3\".",
			"Argument \"start_cell\" is %q, which is no cell.", in.StartCell)
	}
	return cell{col, row}, nil
}

// open unpacks a workbook in memory. The two limits are equal because what is
// over the second one would go to temporary files, which a guest has none of.
func open(tree files.Tree, name string) (*excelize.File, error) {
	f, err := tree.FS.Open(name)
	if err != nil {
		return nil, unread(name, "%q cannot be opened.", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, unread(name, "%q cannot be read.", err)
	}
	book, err := excelize.OpenReader(bytes.NewReader(data),
		excelize.Options{UnzipSizeLimit: maxUnzipped, UnzipXMLSizeLimit: maxUnzipped})
	if err == nil {
		return book, nil
	}
	return nil, unreadable(name, data, err)
}

// unread words why a file that is there gives no bytes. The host hides some
// files; trying those again, or under another name, leads nowhere.
func unread(name, msg string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return guest.Errorf(tool.Denied, "Go on without it, or ask the user: it is kept from tools.", "%q may not be read.", name)
	}
	return guest.Errorf(tool.Failed, "Try again, or go on without it.", msg, name)
}

// unreadable says why a file is no workbook that can be read.
func unreadable(name string, data []byte, err error) error {
	switch {
	case strings.HasPrefix(err.Error(), "unzip size exceeds"):
		return guest.Errorf(tool.TooLarge, "Split the workbook or save the sheet as CSV.",
			"%q unpacks to more than %s bytes.", name, guest.Grouped(maxUnzipped))
	case errors.Is(err, excelize.ErrWorkbookPassword) || bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")):
		return guest.Errorf(tool.BadArgs, "Save it as .xlsx without a password.",
			"%q is an old .xls workbook or has a password.", name)
	case files.Binary(data[:min(len(data), files.SniffBytes)]) == "":
		return guest.Errorf(tool.BadArgs, "Read it with read_file.", "%q is a text file, not a workbook.", name)
	}
	return guest.Errorf(tool.BadArgs, "Name an .xlsx, .xlsm or .xltx file.", "%q is not an Excel workbook, or it is damaged.", name)
}

// chooseSheet finds a sheet by its name, in any case; empty: the first.
func chooseSheet(book *excelize.File, wanted string) (string, error) {
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return "", guest.Errorf(tool.Failed, "", "The workbook has no sheets.")
	}
	if strings.TrimSpace(wanted) == "" {
		return sheets[0], nil
	}
	for _, s := range sheets {
		if strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(wanted)) {
			return s, nil
		}
	}
	return "", guest.Errorf(tool.BadArgs, "The sheets are: "+quoted(sheets)+".", "There is no sheet %q.", wanted)
}

func quoted(names []string) string {
	const most = 30
	list := "\"" + strings.Join(names[:min(most, len(names))], "\", \"") + "\""
	if len(names) > most {
		list += ", …"
	}
	return list
}
