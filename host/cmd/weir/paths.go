package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
)

// paths are where this run keeps things. With --data everything lies in that
// folder; else in the XDG folders, each with a subfolder weir.
type paths struct {
	Config  string `json:"config"`  // tools.toml; empty: none found, the defaults hold
	Data    string `json:"data"`    // archive, token, lock, address
	Archive string `json:"archive"` // the SQLite file
	Cache   string `json:"cache"`   // compiled modules
	Token   string `json:"token"`   // file with the token
	Address string `json:"address"` // file with the running daemon's address
	Lock    string `json:"lock"`
	Pins    string `json:"pins"` // weir.lock: which plugins may run
	// Approved holds copies of what may run.
	Approved string `json:"approved"`
}

// findPaths decides every path without making anything.
func (c *cli) findPaths() (paths, error) {
	data, cache := c.data, ""
	if data == "" {
		data = c.xdg("XDG_DATA_HOME", ".local/share")
		cache = c.xdg("XDG_CACHE_HOME", ".cache")
	} else {
		cache = filepath.Join(data, "cache")
	}
	if data == "" || cache == "" {
		return paths{}, usagef("set HOME, or give --data DIR", "there is no home folder to keep the data in")
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return paths{}, err
	}
	cache = filepath.Join(cache, "wasm")
	if v := c.Getenv("WEIR_CACHE"); v != "" { // shared by tests
		cache = v
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return paths{}, err
	}
	p := paths{
		Data: data, Cache: cache,
		Archive: filepath.Join(data, "archive.db"),
		Token:   filepath.Join(data, "token"),
		Address: filepath.Join(data, "daemon.json"),
		Lock:    filepath.Join(data, "lock"),
		Pins:    filepath.Join(data, "weir.lock"), Approved: filepath.Join(data, "approved"),
	}
	p.Config, err = c.findConfig()
	return p, err
}

// private is what no tool may see, whatever folder it is granted: keys, the
// token, other conversations' results and compiled code. The data folder is
// hidden whole unless people work in it.
func (p paths) private() []string {
	files := []string{p.Token, p.Address, p.Lock, p.Pins, p.Pins + ".new", p.Approved, p.Archive, p.Archive + "-wal", p.Archive + "-shm", p.Archive + "-journal", p.Cache, p.quarantine(), p.trustFile(), p.history(), p.history() + ".new"}
	if p.Config != "" {
		files = append(files, filepath.Join(filepath.Dir(p.Config), ".env"))
	}
	if here, err := os.Getwd(); err == nil && !contains(p.Data, here) && !contains(p.Data, p.Config) {
		files = append(files, p.Data)
	}
	return files
}

// quarantine is the file that remembers modules that could not be compiled.
func (p paths) quarantine() string { return filepath.Join(p.Data, "quarantine.json") }

// kept is what tools may read and not change: where people decide what tools
// may do. A tools.toml is one wherever it lies, for weir reads that of the
// folder it is started in, and so is the .env beside it.
func (p paths) kept() []string {
	names := []string{configName, ".env"}
	if p.Config == "" {
		return names
	}
	return append(names, p.Config)
}

// contains reports whether a path is a folder or lies in it.
func contains(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func (c *cli) xdg(variable, underHome string) string {
	if v := c.Getenv(variable); filepath.IsAbs(v) { // the standard says to ignore relative ones
		return filepath.Join(v, "weir")
	}
	if home := c.Getenv("HOME"); home != "" {
		return filepath.Join(home, underHome, "weir")
	}
	return ""
}

// configName is how a configuration is called where nobody names one.
const configName = "tools.toml"

// findConfig takes --config, else ./tools.toml, else the configuration folder's.
func (c *cli) findConfig() (string, error) {
	if c.config != "" {
		if _, err := os.Stat(c.config); err != nil {
			return "", usagef("check the path, or leave --config out", "there is no configuration file %s", c.config)
		}
		return filepath.Abs(c.config)
	}
	candidates := []string{configName}
	if dir := c.xdg("XDG_CONFIG_HOME", ".config"); dir != "" {
		candidates = append(candidates, filepath.Join(dir, configName))
	}
	for _, f := range candidates {
		if _, err := os.Stat(f); err == nil {
			return filepath.Abs(f)
		}
	}
	return "", nil
}

// token reads the token, making one at the first start.
func (p paths) token() (string, error) {
	b, err := os.ReadFile(p.Token)
	if t := strings.TrimSpace(string(b)); err == nil && t != "" {
		return t, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", storage("make it a file that you may read, or remove it and a new one is made", "the token in %s cannot be read: %s", p.Token, reason(err))
	}
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return "", storage(elsewhere, "the data folder %s cannot be made: %s", p.Data, reason(err))
	}
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the process instead
	t := base64.RawURLEncoding.EncodeToString(raw[:])
	if err := os.WriteFile(p.Token, []byte(t+"\n"), 0o600); err != nil {
		_ = os.Remove(p.Token) // half a token would be taken for one
		return "", storage(elsewhere, "the token %s cannot be written: %s", p.Token, reason(err))
	}
	return t, nil
}

// elsewhere is what helps when the data folder cannot be written.
const elsewhere = "free some space, check the folder's permissions, or give another folder with --data"

// storage is a problem with the data folder.
func storage(hint, format string, args ...any) error {
	return &daemon.Problem{Code: "storage", Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// reason is what the system says, without the path that the message names.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// openProblem says what to do about an archive that cannot be written.
func openProblem(p paths, err error) error {
	pe, ok := errors.AsType[*fs.PathError](err)
	if errors.Is(err, archive.ErrFull) || ok && (pe.Path == p.Archive || pe.Path == p.Data) {
		return storage(elsewhere, "the archive %s cannot be written: %s", p.Archive, err)
	}
	return err
}

func (c *cli) pathsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "paths", Short: "Print where weir keeps its files", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			if c.JSON {
				c.Print(p)
				return nil
			}
			config := p.Config
			if config == "" {
				config = "(none: the defaults hold)"
			}
			for _, row := range [][2]string{{"config", config}, {"data", p.Data}, {"archive", p.Archive}, {"cache", p.Cache}, {"token", p.Token}, {"address", p.Address}, {"pins", p.Pins}} {
				fmt.Fprintf(c.Out, "%s %s\n", c.Label(row[0], 8), c.text(row[1]))
			}
			return nil
		},
	}
}
