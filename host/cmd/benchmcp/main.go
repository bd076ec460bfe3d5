// Command benchmcp measures calls of one trivial tool over the Model Context
// Protocol: weir's, a Go guest in the sandbox, beside a plain handler of the npm
// SDK's server, in one run. `make bench-mcp` builds what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmcp: "+err.Error())
		os.Exit(1)
	}
}

// targets are the ratios to the npm SDK that are wanted.
const httpTarget, stdioTarget = 4.0, 0.6

func run() error {
	callers := flag.Int("callers", 16, "callers at once")
	span := flag.Duration("time", 5*time.Second, "time of each measurement; a second of warming comes first")
	weir := flag.String("weir", "bin/weir", "weir itself")
	clients := flag.String("clients", "host/daemon/clients", "the folder with the npm packages and bench-server.mjs")
	flag.Parse()
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "benchmcp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := plugin(dir); err != nil {
		return err
	}
	node := "node"
	if found, _ := filepath.Glob(filepath.Join(*clients, "node_modules/node-linux-*/bin/node")); len(found) > 0 {
		node = found[0]
	}
	npm := []string{node, filepath.Join(*clients, "bench-server.mjs")}
	ours := []string{*weir, "--config", filepath.Join(dir, "tools.toml"), "--data", filepath.Join(dir, "data")}
	fmt.Printf("%d callers, %s each\n%-44s %10s %10s %10s\n", *callers, *span, "", "calls/s", "p50", "p99")
	at := func(name string, target float64, base float64, c *caller, err error) (float64, error) {
		if err != nil {
			return 0, err
		}
		defer c.close()
		n, times := measure(c.call, *callers, time.Second, *span)
		rate := float64(n) / span.Seconds()
		fmt.Printf("%-44s %10.0f %10s %10s", name, rate, times[len(times)/2].Round(time.Microsecond), times[len(times)*99/100].Round(time.Microsecond))
		if base > 0 {
			verdict := "ok"
			if rate < target*base {
				verdict = "short"
			}
			fmt.Printf("   %.2f × npm, wanted %.1f ×: %s", rate/base, target, verdict)
		}
		fmt.Println()
		return rate, nil
	}
	var base [2]float64
	for i, how := range []string{"http", "express"} {
		c, err := overHTTP(ctx, func(port string) []string { return append(slices.Clone(npm), how, port) }, "")
		if base[i], err = at("http, npm SDK, "+map[string]string{"http": "node:http", "express": "its express app"}[how], 0, 0, c, err); err != nil {
			return err
		}
	}
	c, err := overHTTP(ctx, func(port string) []string {
		return append(slices.Clone(ours), "serve", "--addr", "127.0.0.1:"+port)
	}, filepath.Join(dir, "data", "token"))
	rate, err := at("http, weir, against node:http", httpTarget, base[0], c, err)
	if err != nil {
		return err
	}
	fmt.Printf("%-44s %43s %.2f × npm, wanted %.1f ×\n", "                 against its express app", "", rate/base[1], httpTarget)
	c, err = overStdio(ctx, append(slices.Clone(npm), "stdio"), *callers)
	first, err := at("stdio, npm SDK", 0, 0, c, err)
	if err != nil {
		return err
	}
	c, err = overStdio(ctx, append(slices.Clone(ours), "mcp"), *callers)
	_, err = at("stdio, weir", stdioTarget, first, c, err)
	return err
}

// plugin builds the tool, and a configuration that logs no single call.
func plugin(dir string) error {
	from, to := "host/daemon/mcpserver/testdata/everything", filepath.Join(dir, "plugins", "everything")
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
	config := "[log]\nlevel = \"warn\"\n[[plugins.folder]]\npath = \"plugins\"\ntrust = \"granted\"\n"
	if err := os.WriteFile(filepath.Join(dir, "tools.toml"), []byte(config), 0o644); err != nil {
		return err
	}
	out, err := filepath.Abs(filepath.Join(to, "everything.wasm"))
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

// freePort is one that nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// await tries until a server listens.
func await(addr string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
	}
	return errors.New("nothing listens at " + addr)
}

// text is what the tool gives back.
var text = strings.Repeat("a hundred bytes ", 6) + "are"
