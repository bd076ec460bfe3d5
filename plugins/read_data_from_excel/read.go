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
	highestRows = 20000
	maxFile     = 8 << 20  // bytes of a workbook
	maxUnzipped = 48 << 20 // bytes of what is packed in it
)

type args struct {
	FilePath  string `json:"filepath"`
	SheetName string `json:"sheet_name"` // empty: the first
	StartCell string `json:"start_cell"` // empty: A1
	MaxRows   int    `json:"max_rows"`   // 0: all
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
			"%q has %s bytes; at most %s are read.", name, guest.Grouped(int(info.Size())), guest.Grouped(maxFile)).
			Zh("请拆分工作簿，或把工作表另存为 CSV。", "%q 有 %s 字节；最多读取 %s 字节。")
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
		return guest.Result{}, guest.Errorf(tool.Failed, "Open it in Excel and save it again.", "Sheet %q of %q cannot be read.", sheet, name).
			Zh("请用 Excel 打开并重新保存。", "无法读取 %[2]q 的工作表 %[1]q。")
	}
	r := t.result(c, book.GetSheetList())
	r.Sources = []tool.Source{{Title: path.Base(name) + " · " + sheet, URL: name}}
	return r, nil
}

// cell is a place in a sheet, column and row counted from 1.
type cell struct{ col, row int }

func (in *args) start() (cell, error) {
	if in.MaxRows < 0 || in.MaxRows > highestRows {
		return cell{}, guest.Errorf(tool.BadArgs, "Leave it out for all rows.", "\"max_rows\" must be 1 to %s.", guest.Grouped(highestRows)).
			Zh("省略时为所有行。", "\"max_rows\" 须为 1 到 %s。")
	}
	written := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(in.StartCell), "$", ""))
	if written == "" {
		return cell{1, 1}, nil
	}
	col, row, err := excelize.CellNameToCoordinates(written)
	if err != nil {
		return cell{}, guest.Errorf(tool.BadArgs, "Write a column and a row, for example \"B3\".",
			"Argument \"start_cell\" is %q, which is no cell.", in.StartCell).
			Zh("请写列和行，例如 \"B3\"。", "参数 \"start_cell\" 是 %q，不是单元格。")
	}
	return cell{col, row}, nil
}

// open unpacks a workbook in memory. The two limits are equal because what is
// over the second one would go to temporary files, which a guest has none of.
func open(tree files.Tree, name string) (*excelize.File, error) {
	f, err := tree.FS.Open(name)
	if err != nil {
		return nil, unread(name, "%q cannot be opened.", "无法打开 %q。", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, unread(name, "%q cannot be read.", "无法读取 %q。", err)
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
func unread(name, msg, zh string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return guest.Errorf(tool.Denied, "Go on without it, or ask the user: it is kept from tools.", "%q may not be read.", name).
			Zh("请不用它继续，或询问用户：工具不能读取它。", "不允许读取 %q。")
	}
	return guest.Errorf(tool.Failed, "Try again, or go on without it.", msg, name).Zh("请重试，或不用它继续。", zh)
}

// unreadable says why a file is no workbook that can be read.
func unreadable(name string, data []byte, err error) error {
	switch {
	case strings.HasPrefix(err.Error(), "unzip size exceeds"):
		return guest.Errorf(tool.TooLarge, "Split the workbook or save the sheet as CSV.",
			"%q unpacks to more than %s bytes.", name, guest.Grouped(maxUnzipped)).Zh("请拆分工作簿，或把工作表另存为 CSV。", "%q 解压后超过 %s 字节。")
	case errors.Is(err, excelize.ErrWorkbookPassword) || bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")):
		return guest.Errorf(tool.BadArgs, "Save it as .xlsx without a password.",
			"%q is an old .xls workbook or has a password.", name).Zh("请另存为不带密码的 .xlsx。", "%q 是旧的 .xls 工作簿，或带有密码。")
	case files.Binary(data[:min(len(data), files.SniffBytes)]) == "":
		return guest.Errorf(tool.BadArgs, "Read it with read_file.", "%q is a text file, not a workbook.", name).
			Zh("请用 read_file 读取它。", "%q 是文本文件，不是工作簿。")
	}
	return guest.Errorf(tool.BadArgs, "Name an .xlsx, .xlsm or .xltx file.", "%q is not an Excel workbook, or it is damaged.", name).
		Zh("请指定 .xlsx、.xlsm 或 .xltx 文件。", "%q 不是 Excel 工作簿，或已损坏。")
}

// chooseSheet finds a sheet by its name, in any case; empty: the first.
func chooseSheet(book *excelize.File, wanted string) (string, error) {
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return "", guest.Errorf(tool.Failed, "", "The workbook has no sheets.").Zh("", "工作簿没有工作表。")
	}
	if strings.TrimSpace(wanted) == "" {
		return sheets[0], nil
	}
	for _, s := range sheets {
		if strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(wanted)) {
			return s, nil
		}
	}
	return "", guest.Errorf(tool.BadArgs, "The sheets are: "+quoted(sheets)+".", "There is no sheet %q.", wanted).
		Zh("工作表有："+quoted(sheets)+"。", "没有工作表 %q。")
}

func quoted(names []string) string {
	const most = 30
	list := "\"" + strings.Join(names[:min(most, len(names))], "\", \"") + "\""
	if len(names) > most {
		list += ", …"
	}
	return list
}
