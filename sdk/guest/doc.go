// Package guest is what a tool written in Go is made with. A tool is a plain
// function over a struct of arguments; Run wraps it for the host's ABI:
//
//	//go:wasmexport read_file
//	func readFile() int32 { return guest.Run(read) }
//
//	var _ = guest.Ready(read)
//
//	func read(c *guest.Call, in struct {
//		FilePath string `json:"file_path"`
//	}) (guest.Result, error)
//
// The export is built with GOOS=wasip1 GOARCH=wasm -buildmode=c-shared. The
// function itself holds no Wasm, so Invoke runs it in an ordinary unit test.
//
// A tool returns its whole text. Cutting it for a model is the host's work. A text of
// hits, rows or matches is written with a List: the host then cuts between two of them
// and says how many there are. Where a tool has not computed everything, such as the
// next page of a server, Result.More says how to go on.
//
// The output is always the JSON of an MCP tool result, so a manifest that
// describes such a tool says format = "mcp".
package guest
