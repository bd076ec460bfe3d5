package main

import (
	"bytes"
	"encoding/xml"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// sheetXML finds the part of the workbook that holds a sheet; nil when it is
// kept in an unusual way.
func sheetXML(book *excelize.File, sheet string) []byte {
	var list struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		Links []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if xml.Unmarshal(packed(book, "xl/workbook.xml"), &list) != nil ||
		xml.Unmarshal(packed(book, "xl/_rels/workbook.xml.rels"), &links) != nil {
		return nil
	}
	for _, s := range list.Sheets {
		for _, l := range links.Links {
			if s.Name == sheet && s.ID == l.ID {
				return packed(book, strings.TrimPrefix(absolute(l.Target), "/"))
			}
		}
	}
	return nil
}

// absolute is where a link of the workbook leads.
func absolute(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	return path.Join("/xl", target)
}

func packed(book *excelize.File, name string) []byte {
	v, _ := book.Pkg.Load(name)
	b, _ := v.([]byte)
	return b
}

var rowNumber = regexp.MustCompile(`^<row [^>]*\br="(\d{1,7})"`)

// lastRow reads the number of a sheet's last row without parsing the rest; 0:
// it is not written there.
func lastRow(sheet []byte) int {
	at := bytes.LastIndex(sheet, []byte("<row "))
	if at < 0 {
		return 0
	}
	m := rowNumber.FindSubmatch(sheet[at:])
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0
	}
	return n
}
