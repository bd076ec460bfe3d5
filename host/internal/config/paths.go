package config

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/dotenv"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Paths are the files and folders of one run. With --data all of them are in that
// folder, else in a folder weir of the XDG folders.
type Paths struct {
	Config   string `json:"config"`  // tools.toml; empty: there is none, and the defaults apply
	Data     string `json:"data"`    // archive, token, lock, address
	Archive  string `json:"archive"` // the SQLite file
	Cache    string `json:"cache"`   // compiled modules
	Token    string `json:"token"`   // file with the token
	Address  string `json:"address"` // file with the running daemon's address
	Lock     string `json:"lock"`
	Pins     string `json:"pins"`     // weir.lock: which plugins may run
	Approved string `json:"approved"` // folder with the copies of approved plugins
}

// Paths returns all paths. It creates nothing. The error is a flag that names no
// file, or a missing home folder.
func (o Source) Paths() (Paths, error) {
	data, cache := o.Data, ""
	if data == "" {
		data = o.xdg("XDG_DATA_HOME", ".local/share")
		cache = o.xdg("XDG_CACHE_HOME", ".cache")
	} else {
		cache = filepath.Join(data, "cache")
	}
	if data == "" || cache == "" {
		return Paths{}, msg.Usagef("set HOME, or give --data DIR", "there is no home folder to keep the data in")
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return Paths{}, err
	}
	cache = filepath.Join(cache, "wasm")
	if v := o.Getenv("WEIR_CACHE"); v != "" { // tests share one
		cache = v
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return Paths{}, err
	}
	p := Paths{
		Data: data, Cache: cache,
		Archive: filepath.Join(data, "archive.db"),
		Token:   filepath.Join(data, "token"),
		Address: filepath.Join(data, "daemon.json"),
		Lock:    filepath.Join(data, "lock"),
		Pins:    filepath.Join(data, "weir.lock"), Approved: filepath.Join(data, "approved"),
	}
	p.Config, err = o.findConfig()
	return p, err
}

// Hidden returns the files that no tool may see, whatever its grants: keys, the token, results of other conversations and
// compiled code. The whole data folder is hidden unless it contains the current folder or the configuration.
func (p Paths) Hidden() []string {
	files := []string{p.Token, p.Address, p.Lock, p.Claim(), p.Lease(), p.Pins, p.Pins + ".new", p.Approved, p.Archive, p.Archive + "-wal", p.Archive + "-shm", p.Archive + "-journal", p.Cache, p.Quarantine(), p.TrustFile(), p.Installed(), p.ChatHistory(), p.ChatHistory() + ".new"}
	if p.Config != "" {
		files = append(files, dotenv.File(p.Config), dotenv.File(p.Config)+dotenv.Local)
	}
	if here, err := os.Getwd(); err == nil && !contains(p.Data, here) && !contains(p.Data, p.Config) {
		files = append(files, p.Data)
	}
	for _, pattern := range []string{AsidePrefix + "*", RestorePrefix + "*", filepath.Base(p.Pins) + ".before-*"} {
		copies, _ := fs.Glob(os.DirFS(p.Data), pattern) // the pattern is valid
		for _, name := range copies {
			files = append(files, filepath.Join(p.Data, name))
		}
	}
	return files
}

// AsidePrefix begins the name of the folder into which a restore moves what was in the
// data folder, and RestorePrefix of the one in which it unpacks: both hold a token.
const (
	AsidePrefix   = "before-restore-"
	RestorePrefix = ".restore-"
)

// Quarantine returns the file with the modules whose compilation failed.
func (p Paths) Quarantine() string { return filepath.Join(p.Data, "quarantine.json") }

// Installed returns the file that says what `weir mcp install` wrote into clients' files.
func (p Paths) Installed() string { return filepath.Join(p.Data, "installed.json") }

// Claim returns the file that a daemon locks while it waits for Lock.
func (p Paths) Claim() string { return p.Lock + ".next" }

// Lease returns the file with the id of the last daemon that had Lock.
func (p Paths) Lease() string { return p.Lock + ".daemon" }

// ReadOnly returns the files that tools may read but not change, because they decide
// what tools may do. This includes every tools.toml and the .env beside it: weir reads
// those of the folder in which it is started.
func (p Paths) ReadOnly() []string {
	names := []string{FileName, ".env"}
	if p.Config == "" {
		return names
	}
	return append(names, p.Config)
}

// reserved returns what a writable folder of a plugin must not contain: the data folder with what is configured to lie
// elsewhere, the configuration and the plugin folders.
func (p Paths) reserved(folders []FolderSettings) []string {
	out := []string{p.Data, p.Archive, p.Cache}
	if p.Config != "" {
		out = append(out, p.Config)
	}
	for _, f := range folders {
		if abs, err := filepath.Abs(f.Path); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// contains reports whether a path is the folder or inside it.
func contains(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func (o Source) xdg(variable, underHome string) string {
	if v := o.Getenv(variable); filepath.IsAbs(v) { // the standard says to ignore relative ones
		return filepath.Join(v, "weir")
	}
	if home := o.Getenv("HOME"); home != "" {
		return filepath.Join(home, underHome, "weir")
	}
	return ""
}

// ChatHistory returns the file with the lines that people typed in chats.
func (p Paths) ChatHistory() string { return filepath.Join(p.Data, "chat_history") }

// FileName is the name of the configuration file where no flag names one.
const FileName = "tools.toml"

// findConfig returns the file of --config, else ./tools.toml, else that of the
// configuration folder; empty: there is none.
func (o Source) findConfig() (string, error) {
	if o.Config != "" {
		if _, err := os.Stat(o.Config); err != nil {
			return "", msg.Usagef("check the path, or leave --config out", "there is no configuration file %s", o.Config)
		}
		return filepath.Abs(o.Config)
	}
	candidates := []string{FileName}
	if dir := o.xdg("XDG_CONFIG_HOME", ".config"); dir != "" {
		candidates = append(candidates, filepath.Join(dir, FileName))
	}
	for _, f := range candidates {
		if _, err := os.Stat(f); err == nil {
			return filepath.Abs(f)
		}
	}
	return "", nil
}

// EnsureToken returns the operator's token. It creates one at the first start.
func (p Paths) EnsureToken() (string, error) {
	b, err := os.ReadFile(p.Token)
	if t := strings.TrimSpace(string(b)); err == nil && t != "" {
		return t, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", StorageProblem("make it a file that you may read, or remove it and a new one is made", "the token in %s cannot be read: %s", p.Token, msg.Reason(err))
	}
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return "", StorageProblem(Elsewhere, "the data folder %s cannot be made: %s", p.Data, msg.Reason(err))
	}
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // never fails: a failure ends the process
	t := base64.RawURLEncoding.EncodeToString(raw[:])
	if err := os.WriteFile(p.Token, []byte(t+"\n"), 0o600); err != nil {
		_ = os.Remove(p.Token) // an incomplete file would be read as a token
		return "", StorageProblem(Elsewhere, "the token %s cannot be written: %s", p.Token, msg.Reason(err))
	}
	return t, nil
}

// Elsewhere is the hint for a data folder that cannot be written.
const Elsewhere = "free some space, check the folder's permissions, or give another folder with --data"

// StorageProblem returns an error about the data folder, with the code "storage".
func StorageProblem(hint, format string, args ...any) error {
	return &api.Problem{Code: "storage", Msg: tool.Textf(format, args...), Hint: tool.Text{Format: hint}}
}

// OpenProblem adds a fix to the error of an archive that cannot be opened, if there is one.
func OpenProblem(p Paths, err error) error {
	if errors.Is(err, archive.ErrUnreachable) {
		return StorageProblem("start the database, or correct [store] url", "%s", err)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); errors.Is(err, archive.ErrFull) || ok && (pe.Path == p.Archive || pe.Path == p.Data) {
		return StorageProblem(Elsewhere, "the archive %s cannot be written: %s", p.Archive, err)
	}
	return err
}

// EnvFile returns the .env beside a configuration file; empty: there is no such file.
func EnvFile(config string) string { return dotenv.File(config) }
