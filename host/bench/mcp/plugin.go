package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The tool is made twice: as people write it in Go, and in C.
const goGuest, cGuest = "go", "c"

// plugin builds the tool in Go.
func plugin(dir string) error {
	const from = "host/bench/mcp/testdata/echo"
	to, err := place(dir, goGuest)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(filepath.Join(to, "echo.wasm"))
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = from
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tool: %w\n%s", err, text)
	}
	return nil
}

// pluginC builds the tool in C, as authors do. It fails where there is no compiler.
func pluginC(dir, weir string) error {
	to, err := place(dir, cGuest)
	if err != nil {
		return err
	}
	for from, name := range map[string]string{"host/bench/mcp/testdata/echo-c/main.c": "main.c", "sdk/c/weir.h": "weir/weir.h"} {
		if err := copyFile(from, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	if text, err := exec.Command(weir, "plugin", "build", to).CombinedOutput(); err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
		return fmt.Errorf("%w: %s", err, line)
	}
	return nil
}

// place makes the folder of a guest's plugin, with the manifest, and configurations
// beside it that log no single call and have no other tools, which weir would compile
// meanwhile.
func place(dir, guest string) (plugin string, err error) {
	dir = filepath.Join(dir, guest)
	plugin = filepath.Join(dir, "plugins", "echo")
	if err := copyFile("host/bench/mcp/testdata/echo/plugin.toml", filepath.Join(plugin, "plugin.toml")); err != nil {
		return "", err
	}
	for _, isolation := range []string{"process", "inline"} {
		config := fmt.Sprintf("[log]\nlevel = \"warn\"\n[plugins]\nshipped = false\n[[plugins.folder]]\npath = \"plugins\"\ntrust = \"granted\"\n[sandbox]\nisolation = %q\n", isolation)
		if err := os.WriteFile(filepath.Join(dir, isolation+".toml"), []byte(config), 0o644); err != nil {
			return "", err
		}
	}
	return plugin, nil
}

// copyFile copies a file, with the folders that it lies in.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
