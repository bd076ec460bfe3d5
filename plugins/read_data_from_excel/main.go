// Command read_data_from_excel is a weir tool: it reads a sheet of an Excel
// workbook as a Markdown table. The workbook is parsed inside the sandbox.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport read_data_from_excel
func readDataFromExcel() int32 { return guest.Run(read) }

var _ = guest.Ready(read)

func main() {}
