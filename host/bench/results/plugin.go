package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// plugin builds the tool, and writes configurations that log no single call and have no
// other tools, which weir would compile meanwhile: one that cuts a result to the default of 8,000 characters, and one that shows it whole.
func (b *bench) plugin() error {
	const from = "host/bench/results/testdata/report"
	to := filepath.Join(b.dir, "plugins", "report")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "plugin.toml"), manifest, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(to, "report.wasm"), ".")
	cmd.Dir = from
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tool: %w\n%s", err, text)
	}
	for name, limits := range map[string]string{
		"cut":   "",
		"whole": "[limits]\nceiling_chars = 100000\n[tools.report]\nmax_chars = 100000\nmax_lines = 100000\n",
	} {
		config := "[log]\nlevel = \"warn\"\n[plugins]\nshipped = false\n[[plugins.folder]]\npath = \"plugins\"\ntrust = \"granted\"\n" + limits
		if err := os.WriteFile(filepath.Join(b.dir, name+".toml"), []byte(config), 0o644); err != nil {
			return err
		}
	}
	return nil
}
