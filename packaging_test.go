package rules

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestServiceUnit holds packaging/weir.service to what weir needs of systemd:
// without these a reload ends the daemon, a stop ends tools before their
// answers, short calls wait for long ones, or nothing can be compiled.
func TestServiceUnit(t *testing.T) {
	raw, err := os.ReadFile("packaging/weir.service")
	if err != nil {
		t.Fatal(err)
	}
	set, section := map[string]string{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line
		default:
			key, value, ok := strings.Cut(line, "=")
			if _, twice := set[section+key]; !ok || twice || section == "" {
				t.Errorf("not a setting, or one twice: %q", line)
			}
			set[section+key] = value
		}
	}
	for key, want := range map[string]string{
		"Type": "notify", "ExecReload": "/bin/kill -HUP $MAINPID", "KillMode": "mixed", "OOMPolicy": "continue", "NoNewPrivileges": "yes", "User": "weir",
	} {
		if got := set["[Service]"+key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if _, there := set["[Service]MemoryDenyWriteExecute"]; there {
		t.Error("tools are compiled to machine code, which MemoryDenyWriteExecute forbids")
	}
	if !strings.HasPrefix(set["[Service]ExecStart"], "/usr/local/bin/weir serve ") {
		t.Errorf("ExecStart is %q", set["[Service]ExecStart"])
	}
}

// TestDockerfile holds packaging/Dockerfile to what is there: what it copies
// exists, its folders are those of its commands, and no process is root. With
// WEIR_IMAGE=build its build command is run too, and the binary needs no other
// file (make test-image).
func TestDockerfile(t *testing.T) {
	raw, err := os.ReadFile("packaging/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{} // of each instruction, the arguments
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, args, ok := strings.Cut(line, " ")
		if !ok || name != strings.ToUpper(name) {
			t.Errorf("not an instruction: %q", line)
		}
		all[name] = append(all[name], args)
	}
	for _, args := range all["COPY"] {
		words := strings.Fields(args)
		for _, from := range words[:len(words)-1] {
			if strings.HasPrefix(from, "--") {
				break // of another stage
			}
			if _, err := os.Stat(from); err != nil {
				t.Errorf("COPY %s: %v", args, err)
			}
		}
	}
	if uid, _, _ := strings.Cut(strings.Join(all["USER"], ""), ":"); uid == "" || uid == "0" || uid == "root" || !strings.Contains(string(raw), "-o "+uid+" -g "+uid+" /out/var/lib/weir") {
		t.Errorf("USER %s is root, or does not own the data folder", uid)
	}
	start, health := strings.Join(all["CMD"], ""), strings.Join(all["HEALTHCHECK"], "")
	for _, want := range []string{`["serve",`, `"--data", "/var/lib/weir"`, `"--config", "/etc/weir/tools.toml"`} {
		if !strings.Contains(start, want) {
			t.Errorf("CMD %s lacks %s", start, want)
		}
	}
	if !strings.Contains(health, `["/usr/local/bin/weir", "health", "--data", "/var/lib/weir"]`) || all["VOLUME"][0] != "/var/lib/weir" || all["ENTRYPOINT"][0] != `["/usr/local/bin/weir"]` {
		t.Errorf("HEALTHCHECK %s, VOLUME %v, ENTRYPOINT %v", health, all["VOLUME"], all["ENTRYPOINT"])
	}
	if strings.Contains(start, "addr") || len(all["EXPOSE"]) > 0 {
		t.Error("weir listens on loopback, whatever runs it")
	}
	var build []string
	for _, args := range all["RUN"] {
		if strings.Contains(args, "go build") {
			build = strings.Fields(args)
		}
	}
	if len(build) == 0 || build[0] != "CGO_ENABLED=0" || !slices.Contains(build, "/out/usr/local/bin/weir") {
		t.Fatalf("the build command is %q", build)
	}
	if os.Getenv("WEIR_IMAGE") != "build" {
		return
	}
	out := filepath.Join(t.TempDir(), "weir")
	build[slices.Index(build, "/out/usr/local/bin/weir")] = out
	cmd := exec.CommandContext(t.Context(), build[1], build[2:]...)
	cmd.Env = append(os.Environ(), build[0])
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has %s", p.Type)
		}
	}
}

// TestInstall: what `make install` would do puts the program, each shipped tool and the
// grants where weir looks for them. Tools of the user's own in plugins/ are left alone.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "from")
	tools, err := filepath.Glob("plugins/*/plugin.toml")
	if err != nil || len(tools) == 0 {
		t.Fatal(err)
	}
	files := append([]string{"Makefile", "tools.toml", "bin/weir"}, tools...)
	for _, manifest := range tools {
		name := filepath.Dir(manifest)
		files = append(files, filepath.Join(name, filepath.Base(name)+".wasm"))
	}
	for _, manifest := range append(tools, "plugins/own_go/plugin.toml") {
		files = append(files, filepath.Join(filepath.Dir(manifest), "main.go"))
	}
	files = append(files, "plugins/own_go/plugin.toml", "plugins/own_go/go.mod", "plugins/own_js/plugin.toml", "plugins/own_js/main.js")
	for _, name := range files {
		to := filepath.Join(fake, name)
		text, err := os.ReadFile(name)
		if err != nil { // it may not be built
			text = []byte(name)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	prefix := filepath.Join(dir, "to")
	cmd := exec.Command("make", "--no-print-directory", "-C", fake, "-o", "plugins", "-o", "build", "install", "PREFIX="+prefix)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range files[1:] {
		to := filepath.Join(prefix, "lib/weir", name)
		if name == "bin/weir" {
			to = filepath.Join(prefix, name)
		}
		_, err := os.Stat(to)
		if wanted := !strings.Contains(name, "own_") && filepath.Ext(name) != ".go"; wanted != (err == nil) {
			t.Errorf("%s: installed %v", name, err == nil)
		}
	}
}

// TestProgramsAreCompiledOnce: guesttest compiles with the Makefile's flags. With others,
// each package of its programs would be compiled again.
func TestProgramsAreCompiledOnce(t *testing.T) {
	recipe, err := os.ReadFile("host/internal/guesttest/kept.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range listed(t, "GENERATED") {
		if flag := `"-gcflags=` + path + `=-l -dwarf=false"`; !strings.Contains(string(recipe), flag) {
			t.Errorf("guesttest lacks %s, which the Makefile has", flag)
		}
	}
}
