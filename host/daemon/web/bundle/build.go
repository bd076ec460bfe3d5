package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// libraries are the packages that the sources import, each with its file in src/lib.
var libraries = map[string]string{
	"preact":               "preact.js",
	"preact/hooks":         "hooks.js",
	"preact/jsx-runtime":   "jsx-runtime.js",
	"@preact/signals":      "signals.js",
	"@preact/signals-core": "signals-core.js",
	"marked":               "marked.js",
}

// The page as everybody has it, and with the gallery of its components.
const (
	everybody = "app.tsx"
	gallery   = "gallery/page.tsx"
)

// build returns the files of the page by name, made from the sources in dir/src. The code
// begins at start.
func build(dir, start string) (map[string][]byte, error) {
	src, err := filepath.Abs(filepath.Join(dir, "src"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(src, name)); err != nil {
			return nil, err
		}
	}
	alias := map[string]string{}
	for name, file := range libraries {
		alias[name] = filepath.Join(src, "lib", file)
	}
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(src, start), OutputPath: "app"},
			{InputPath: filepath.Join(src, "style.css"), OutputPath: "style"},
		},
		Outdir: filepath.Join(src, "out"), // names the results; nothing is written
		Bundle: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", Alias: alias,
		TsconfigRaw: "{}", // what tsc alone needs changes nothing here
		Plugins:     []api.Plugin{{Name: "lexer", Setup: lexerAlone}},
		LogLevel:    api.LogLevelSilent,
	})
	var problems []error
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		at := ""
		if m.Location != nil {
			at = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		problems = append(problems, errors.New(at+m.Text))
	}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	files["licences.txt"], err = licences(filepath.Join(src, "lib"))
	return files, errors.Join(append(problems, err)...)
}

// lexerAlone leaves out of marked what renders HTML: the page uses its lexer alone, and no
// bundler can tell that the instance of all classes at its end is not needed.
func lexerAlone(b api.PluginBuild) {
	instance := regexp.MustCompile(`(?s)var \w+=new \w+;function \w+\(\w+,\w+\)\{return \w+\.parse\(.*\b(\w+) as Lexer\b.*`)
	b.OnLoad(api.OnLoadOptions{Filter: `[/\\]lib[/\\]marked\.js$`}, func(at api.OnLoadArgs) (api.OnLoadResult, error) {
		source, err := os.ReadFile(at.Path)
		if err == nil && !instance.Match(source) {
			err = errors.New("marked does not end with an instance of its classes")
		}
		code := string(instance.ReplaceAll(source, []byte("export{$1 as Lexer};")))
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS}, err
	})
}

// licences returns the licences of the libraries in dir as one text.
func licences(dir string) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.LICENSE"))
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = fmt.Appendf(out, "%s\n\n%s\n\n", strings.TrimSuffix(filepath.Base(name), ".LICENSE"), text)
	}
	return out, nil
}
