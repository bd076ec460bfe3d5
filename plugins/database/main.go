// Command database is a weir plugin with two tools: database queries SQLite
// files, and query_csv queries CSV files, both with SQL and without writing.
package main

import "github.com/weirhost/weir/sdk/guest"

//go:wasmexport database
func databaseTool() int32 { return guest.Run(queryDatabase) }

var _ = guest.Ready(queryDatabase)

//go:wasmexport query_csv
func queryCSVTool() int32 { return guest.Run(queryCSV) }

var _ = guest.Ready(queryCSV)

func main() {}
