package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// unread are the functions whose texts no person reads, or programs alone:
// patterns, the log, the forms of others.
var unread = []string{"MustCompile", "Compile", "Set", "Warn", "Info", "Debug", "Error", "Named", "NewReplacer", "TrimPrefix", "HasPrefix", "Contains", "CommandPath"}

// mute are texts that stay as they are in every language: names, amounts, what
// is to be typed, and what programs read.
var mute = []*regexp.Regexp{
	regexp.MustCompile(`^\s*(📎 )?((weir|%s) (archive|model|plugin|serve|user|mcp|ask "|conversation|tools show|trace show|call$)|chmod |apt |rustup |cd |https?:/|/show )`),
	regexp.MustCompile(`^[a-z]* ?[A-Z]+$|^[A-Z]+ \[|^ --[a-z]+ [A-Z=]+$`), // the arguments of a command, a flag
	regexp.MustCompile(`^(schema = |\{|\x00asm|, mode = |\s*\[%s\.quota)`),
	regexp.MustCompile(`^(%\S+|, |:| )*(KiB|MiB|GiB|ms|s|min)$`),
	regexp.MustCompile(`^(Application Support|Bearer %s)$`),
	regexp.MustCompile(`^Shorten the tool result`),                                                                      // a prompt, in English for every model
	regexp.MustCompile(`^\s*(weir|ok|no|FAIL|text|--run|--archive-bytes|~|# from|%\S+ is)?(:|\s|%\S+|→|·|ms|sha256)*$`), // names, marks and numbers alone
}

var chinese = regexp.MustCompile(`\p{Han}`)

// saysBoth reports whether the Chinese text is beside the English one.
func saysBoth(list []ast.Expr) bool {
	return slices.ContainsFunc(list, func(e ast.Expr) bool {
		s, ok := literal(e)
		if c, is := e.(*ast.CallExpr); !ok && is {
			return saysBoth(c.Args)
		}
		return ok && chinese.MatchString(s)
	})
}

// literal returns the text of a string, with %s in the place of what is put in.
func literal(e ast.Expr) (string, bool) {
	switch v := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(v.Value)
		return s, v.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return literal(v.X)
	case *ast.BinaryExpr:
		x, is := literal(v.X)
		y, too := literal(v.Y)
		if v.Op != token.ADD || !is && !too {
			return "", false
		}
		if !is {
			x = "%s"
		}
		if !too {
			y = "%s"
		}
		return x + y, true
	}
	return "", false
}

// texts finds what a file of this package tells people: every string with two
// words in it.
func texts(file *ast.File) (list []string) {
	words := regexp.MustCompile(`[A-Za-z]{2,}[^A-Za-z]*[ \t\n]|[ \t\n][^A-Za-z]*[A-Za-z]{2,}`)
	ast.Inspect(file, func(n ast.Node) bool {
		switch v := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch f := v.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			return !slices.Contains(unread, name) && !saysBoth(v.Args)
		case *ast.CompositeLit:
			return !saysBoth(v.Elts)
		case *ast.Field:
			v.Tag = nil
		case *ast.KeyValueExpr:
			if k, ok := v.Key.(*ast.Ident); ok && (k.Name == "Use" || k.Name == "Example") {
				return false
			}
		case ast.Expr:
			if s, ok := literal(v); ok {
				bare := unplaced.ReplaceAllString(s, "%")
				if words.MatchString(bare) && !slices.ContainsFunc(mute, func(m *regexp.Regexp) bool { return m.MatchString(s) }) {
					list = append(list, s)
				}
				return false
			}
		}
		return true
	})
	return list
}

// commandFolders hold the commands and what they print.
var commandFolders = []string{".", "../../internal/plugincmd", "../../internal/modelcmd"}

// Every text that a command says exists in Chinese.
func TestEveryTextIsInBothLanguages(t *testing.T) {
	sum := 0
	for _, folder := range commandFolders {
		eachFile(t, folder, func(name string, file *ast.File) {
			for _, s := range texts(file) {
				sum++
				if k := strings.ReplaceAll(s, "%w", "%s"); msg.Format(tool.Zh, k) == k {
					t.Errorf("%s: there is no Chinese for %q; put it into host/internal/msg/zh", name, s)
				}
			}
		})
	}
	if sum < 300 {
		t.Errorf("only %d texts were found", sum)
	}
}

// eachFile reads the Go files of a folder, tests excepted.
func eachFile(t *testing.T, folder string, f func(name string, file *ast.File)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f(name, file)
	}
}

// Every command and flag tells in Chinese what it is for, what a library adds
// included.
func TestHelpIsInChinese(t *testing.T) {
	c := newCLI(term.Env{Lookup: barely(t)})
	root := newRoot(c)
	c.lang = "zh"
	c.translate(root)
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		if !chinese.MatchString(cmd.Short) || cmd.Long != "" && cmd.HasParent() && cmd.Parent().Name() != "completion" && !chinese.MatchString(cmd.Long) {
			t.Errorf("%s: %q %q", cmd.CommandPath(), cmd.Short, cmd.Long)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !chinese.MatchString(f.Usage) {
				t.Errorf("%s --%s: %q", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				each(sub)
			}
		}
	}
	each(root)
	for _, args := range [][]string{nil, {"plugin"}, {"call"}, {"plugin", "new"}} {
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		s := cmd.UsageString()
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, " ") && line != "\n" && !chinese.MatchString(line) {
				t.Errorf("the help of %s has %q in\n%s", cmd.CommandPath(), line, s)
			}
		}
	}
}

// What commands print, and what is wrong with how they were called, differs by
// the language.
func TestCommandsSpeakBothLanguages(t *testing.T) {
	for _, args := range []string{"--help", "nosuch", "plugin nosuch", "ask --nosuch", "archive show", "config validate", "health", "user list", "tool list", "tool show calculator",
		"plugin validate nosuch", "plugin info nosuch", "model list", "model use nosuch", "mcp config --client nosuch", "stats", "approvals list", "conversation list", "archive list", "backup", "restore nosuch", "serve --addr nosuch", "doctor"} {
		said := map[string]string{}
		for _, lang := range []string{"en", "zh"} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tools.toml"), []byte("[[plugins.folder]]\npath = \"./plugins\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o700); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			run(t.Context(), append(strings.Fields(args), "--lang", lang, "--config", filepath.Join(dir, "tools.toml"), "--data", filepath.Join(dir, "data")), term.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Lookup: barely(t)})
			said[lang] = out.String() + errs.String()
		}
		if chinese.MatchString(said["en"]) || !chinese.MatchString(said["zh"]) {
			t.Errorf("weir %s says\n%s\nin English, and in Chinese\n%s", args, said["en"], said["zh"])
		}
	}
}

// TestLanguageOfNewTools: of weir plugin new --lang is the language of the tool, and before
// the command it is that of messages.
func TestLanguageOfNewTools(t *testing.T) {
	for args, want := range map[string]string{
		"--lang zh plugin new x --from nosuch.wasm":          "无法读取模块",
		"--lang zh plugin new x --lang c --from nosuch.wasm": "--from 用于已经构建好的模块",
		"plugin new x --template http --from nosuch.wasm":    "--from is for a module that is built",
		"--lang zh plugin new x":                             "没有给出新工具的语言",
		"plugin new x --lang JavaScript":                     "made x: a tool in JavaScript",
	} {
		t.Chdir(t.TempDir())
		var out bytes.Buffer
		run(t.Context(), strings.Fields(args), term.Env{In: strings.NewReader(""), Out: &out, Err: &out, Lookup: barely(t)})
		if !strings.Contains(out.String(), want) {
			t.Errorf("weir %s says\n%swithout %q", args, out.String(), want)
		}
	}
}
