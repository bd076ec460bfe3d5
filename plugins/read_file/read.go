package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxText = 8<<20 - 1<<10 // bytes returned by one call: what the host keeps, with room for a remark
	maxScan = 64 << 20      // bytes read to count the lines after them
	maxWide = 16 << 20      // bytes of a UTF-16 file, which is decoded as a whole
)

type args struct {
	FilePath  string `json:"file_path"`
	StartLine int    `json:"start_line"` // from 1; 0: the first
	EndLine   int    `json:"end_line"`   // included; 0: the last
}

// read returns the text of a file, or the wanted lines of it, unchanged, so
// that line numbers of the result and of the file agree when it is whole.
func read(c *guest.Call, in args) (guest.Result, error) {
	if err := in.check(); err != nil {
		return guest.Result{}, err
	}
	tree := files.In(c, files.Workspace)
	name, info, err := tree.File(in.FilePath)
	if e, ok := errors.AsType[*tool.Error](err); ok && e.Code == tool.Denied && e.Hint == "" {
		return guest.Result{}, guest.Errorf(e.Code, closedHint, "%s", e.MsgText).Zh(closedHintZh, "%s")
	}
	if err != nil {
		return guest.Result{}, err
	}
	f, err := tree.FS.Open(name)
	if err != nil {
		return guest.Result{}, unreadable(name, "%q cannot be opened.", "无法打开 %q。", err)
	}
	defer f.Close()
	source := []tool.Source{{Title: name, URL: name}}

	r, kind, err := text(f)
	switch {
	case err != nil:
		return guest.Result{}, unreadable(name, "%q cannot be read.", "无法读取 %q。", err)
	case !kind.IsZero():
		size := guest.Grouped(int(info.Size()))
		return guest.Result{Sources: source, Text: c.Say(
			fmt.Sprintf("%s is %s of %s bytes; it has no text to show.", name, kind, size),
			fmt.Sprintf("%s 是%s，%s 字节，没有可显示的文本。", name, kind.Zh, size))}, nil
	}
	got, err := collect(r, max(in.StartLine, 1), in.EndLine)
	if err != nil {
		return guest.Result{}, unreadable(name, "%q cannot be read to its end.", "无法把 %q 读到末尾。", err)
	}
	res, err := got.result(c, name, in)
	res.Sources = source
	return res, err
}

const (
	closedHint   = "Go on without it, or ask the user: it is kept from tools."
	closedHintZh = "请不用它继续，或询问用户：工具不能读取它。"
)

// unreadable words why a file that is there gives no text. The host hides some
// files; trying those again, or under another name, leads nowhere.
func unreadable(name, msg, zh string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return guest.Errorf(tool.Denied, closedHint, "%q may not be read.", name).Zh(closedHintZh, "不允许读取 %q。")
	}
	return guest.Errorf(tool.Failed, "Try again, or go on without it.", msg, name).Zh("请重试，或不用它继续。", zh)
}

func (in args) check() error {
	switch {
	case strings.TrimSpace(in.FilePath) == "":
		return guest.Errorf(tool.BadArgs, "Give the path of a file in the workspace.", "Argument \"file_path\" is empty.").
			Zh("请给出工作区中一个文件的路径。", "参数 \"file_path\" 为空。")
	case in.StartLine < 0 || in.EndLine < 0:
		return guest.Errorf(tool.BadArgs, "Lines count from 1.", "\"start_line\" and \"end_line\" must not be negative.").
			Zh("行号从 1 开始。", "\"start_line\" 和 \"end_line\" 不能为负数。")
	case in.EndLine != 0 && in.EndLine < in.StartLine:
		return guest.Errorf(tool.BadArgs, "Give start_line ≤ end_line.",
			"\"end_line\" %d comes before \"start_line\" %d.", in.EndLine, in.StartLine).
			Zh("请让 start_line ≤ end_line。", "\"end_line\" %d 小于 \"start_line\" %d。")
	}
	return nil
}

// text opens a file as UTF-8, or says what kind of bytes it holds instead.
func text(f io.Reader) (r *bufio.Reader, kind tool.Text, err error) {
	r = bufio.NewReaderSize(f, 64<<10)
	head, err := r.Peek(files.SniffBytes)
	if err != nil && err != io.EOF {
		return nil, kind, err
	}
	if kind = files.Kind(head); !kind.IsZero() {
		return nil, kind, nil
	}
	if plain := files.Text(head); len(plain) == len(head) {
		return r, kind, nil
	}
	whole, err := io.ReadAll(io.LimitReader(r, maxWide))
	return bufio.NewReader(bytes.NewReader(files.Text(whole))), kind, err
}

// part is what collect took of a file.
type part struct {
	text     guest.List // without entries: for texts of any length in little memory
	lines    int        // in text
	next     int        // the first line that was wanted and did not fit; 0: none
	total    int        // lines of the file
	counted  bool       // total is exact: the file was read to its end
	overlong int        // bytes of a single line that did not fit; 0: none
}

// collect takes the lines first to last (0: to the end) up to maxText bytes
// and counts all lines up to maxScan bytes.
func collect(r *bufio.Reader, first, last int) (*part, error) {
	p := &part{}
	scanned := 0
	for scanned < maxScan {
		line, err := longLine(r, maxScan-scanned)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(line) > 0 {
			scanned += len(line)
			p.total++
			if p.total >= first && (last == 0 || p.total <= last) && p.next == 0 {
				p.take(line)
			}
		}
		if err == io.EOF {
			p.counted = true
			return p, nil
		}
	}
	return p, nil
}

// longLine reads one line with its end, at most limit bytes of it.
func longLine(r *bufio.Reader, limit int) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	whole := bytes.Clone(line)
	for err == bufio.ErrBufferFull && len(whole) < limit {
		line, err = r.ReadSlice('\n')
		whole = append(whole, line...)
	}
	if err == bufio.ErrBufferFull {
		err = nil
	}
	return whole, err
}

func (p *part) take(line []byte) {
	room := maxText - p.text.Len()
	if len(line) <= room {
		p.text.Write(line)
		p.lines++
		return
	}
	p.next = p.total
	if p.lines > 0 {
		return
	}
	// One line that is longer than everything: a piece is better than nothing.
	p.text.WriteString(strings.ToValidUTF8(string(line[:room]), ""))
	p.overlong, p.lines, p.next = len(line), 1, p.total+1
}

// result words what was taken.
func (p *part) result(c *guest.Call, name string, in args) (guest.Result, error) {
	switch {
	case p.total == 0:
		return guest.Text(c.Say(name+" is empty.", name+" 是空文件。")), nil
	case in.StartLine > p.total && !p.counted:
		return guest.Result{}, guest.Errorf(tool.TooLarge, "Search the file with grep_search.",
			"Line %d of %q is after the first %s bytes.", in.StartLine, name, guest.Grouped(maxScan)).
			Zh("请用 grep_search 搜索该文件。", fmt.Sprintf("%%[2]q 的第 %%[1]d 行在前 %s 字节之后。", guest.Grouped(maxScan)))
	case in.StartLine > p.total:
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Ask for lines up to "+guest.Grouped(p.total)+".",
			"%q has %s lines; start_line is %d.", name, guest.Grouped(p.total), in.StartLine).
			Zh("请读取不超过第 "+guest.Grouped(p.total)+" 行的内容。", "%q 共有 %s 行，start_line 是 %d。")
	}
	res := p.text.Result()
	if p.overlong > 0 {
		res.Text += fmt.Sprintf("\n"+c.Say("[this line goes on: it has %s bytes]", "[这一行还没有结束：全行 %s 字节]"), guest.Grouped(p.overlong))
	}
	if p.next == 0 || p.counted && p.next > p.total {
		return res, nil
	}
	next := map[string]int{"start_line": p.next}
	if in.EndLine != 0 {
		if p.next > in.EndLine {
			return res, nil
		}
		next["end_line"] = in.EndLine
	}
	res.More = &tool.More{Shown: p.lines, Total: p.wanted(in)}
	res.More.Args, _ = json.Marshal(next)
	return res, nil
}

// wanted counts the lines that were asked for; 0 when it is not known.
func (p *part) wanted(in args) int {
	switch {
	case in.EndLine != 0 && (!p.counted || in.EndLine <= p.total):
		return in.EndLine - max(in.StartLine, 1) + 1
	case !p.counted:
		return 0
	}
	return p.total - max(in.StartLine, 1) + 1
}
