package wasmcheck

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// magic tells a core module of version 1 from everything else, with a sentence
// for what people put into the folder by mistake.
func magic(file []byte) error {
	const head = "\x00asm"
	switch {
	case len(file) == 0:
		return errors.New("the file is empty")
	case !bytes.HasPrefix(file, []byte(head)[:min(4, len(file))]):
		return notWasm(file)
	case len(file) < 8:
		return errors.New("the file is cut short: it ends within the first 8 bytes")
	case bytes.HasPrefix(file[4:], []byte{1, 0, 0, 0}):
		return nil
	case bytes.HasPrefix(file[6:], []byte{1, 0}):
		return errors.New("this is a WebAssembly component; weir runs core modules, so build for wasip1 (wasm32-wasip1), not wasip2")
	}
	return fmt.Errorf("this WebAssembly file has version %x; weir runs version 1", file[4:8])
}

func notWasm(file []byte) error {
	text := bytes.TrimLeft(file[:min(len(file), 4096)], " \t\r\n\ufeff")
	for bytes.HasPrefix(text, []byte(";;")) {
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		text = bytes.TrimLeft(rest, " \t\r\n")
	}
	for prefix, what := range map[string]string{
		"(module":          "this is WebAssembly in its text form; translate it, for example with wat2wasm",
		"(component":       "this is a WebAssembly component in its text form; weir runs core modules",
		"\x7fELF":          "this is a program for Linux, not a WebAssembly file; build the plugin for wasm32, for example with GOOS=wasip1 GOARCH=wasm",
		"MZ":               "this is a program for Windows, not a WebAssembly file; build the plugin for wasm32, for example with GOOS=wasip1 GOARCH=wasm",
		"\xcf\xfa\xed\xfe": "this is a program for macOS, not a WebAssembly file; build the plugin for wasm32, for example with GOOS=wasip1 GOARCH=wasm",
		"PK\x03\x04":       "this is a zip archive; unpack the .wasm from it",
		"\x1f\x8b":         "this file is compressed; unpack it with gunzip",
		"BC\xc0\xde":       "this is LLVM bitcode; link it to a .wasm",
		"!<arch>\n":        "this is a library of object files; link it to a .wasm",
	} {
		if strings.HasPrefix(string(text), prefix) {
			return errors.New(what)
		}
	}
	return errors.New("this is not a WebAssembly file; build the plugin for wasm32, for example with GOOS=wasip1 GOARCH=wasm")
}
