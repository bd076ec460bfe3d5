// Package sdk holds the sources of the SDKs as files, so that a new tool's
// folder can be given a copy: it then depends on nothing that has to be
// downloaded.
package sdk

import (
	"embed"
	"io/fs"
)

//go:embed guest/*.go guest/files/*.go tool/*.go c/weir.h rust/weir.rs assemblyscript/weir.ts js/weir.d.ts
var sources embed.FS

// Sources are the SDKs, each below its own folder of this repository's sdk/:
// guest and tool are Go's. Go's tests are among them.
func Sources() fs.FS { return sources }
