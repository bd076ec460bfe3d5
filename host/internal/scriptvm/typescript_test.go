package scriptvm

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A script in TypeScript runs like one in JavaScript.
func TestTypeScript(t *testing.T) {
	for source, want := range map[string]string{
		"interface A { n: number }\nconst a: A = { n: 1 } as const;\nreturn a.n!;":                                                 "1",
		"const f = <T,>(a: T, b?: string): T => a;\nreturn f<number>(2) satisfies number;":                                         "2",
		"enum E { A, B = 'b' }\nreturn [E.A, E.B].join();":                                                                         "0,b",
		"class C { constructor(private readonly n: number) {} get twice(): number { return this.n * 2 } }\nreturn new C(3).twice;": "6",
		"type R = { text: string };\nconst r: R = JSON.parse(`${await tools.echo({ text: 'é' })}`) as R;\nreturn r.text;":          "é",
		"for (const [k, v] of Object.entries({ a: 1 }) as [string, number][]) text(`${k}=${v}`);":                                  "a=1",
		"function f(this: unknown, ...rest: number[]): asserts this is string { text(rest.length) }\nf(1, 2);":                     "2",
	} {
		if out, state := play(t, source, tools); state.Fault != nil || out != want {
			t.Errorf("%s: %q, %+v", source, out, state.Fault)
		}
	}
}

// An error of a script in TypeScript has its place in the source, also after a pause.
func TestPlacesOfTypeScript(t *testing.T) {
	for _, tt := range []struct {
		source, message string
		line, column    int
	}{
		{"const a: number = 1, b: string = nothing;", "ReferenceError: nothing is not defined", 1, 34},
		{"interface A {\n  b: string\n}\nconst a: A = null as any;\nconst s: string = a.b;", "TypeError: cannot read property 'b' of null", 5, 19},
		{"const a: string = `${await tools.echo({} as object)}`, b: number = (undefined as any).c;", "TypeError: cannot read property 'c' of undefined", 1, 0},
		{"const a: = 3;", "SyntaxError: Unexpected token", 1, 10},
		{"const a: number = 3;\nlet b: string[ = 4;", "SyntaxError: Unexpected token", 2, 16},
		{"let a = 1;\nlet b = a +* 2;", "SyntaxError: unexpected token in expression: '*'", 2, 12},
	} {
		_, state := play(t, tt.source, tools)
		if f := state.Fault; f == nil || f.Message != tt.message || f.Line != tt.line || tt.column != 0 && f.Column != tt.column {
			t.Errorf("%s: %+v, wanted %+v", tt.source, f, tt)
		}
	}
}

// The types of a hostile source cost no more than a script may.
func TestHostileTypeScript(t *testing.T) {
	for name, source := range map[string]string{
		"nested": "let x: " + strings.Repeat("(", 100_000),
		"not":    "let x: any = " + strings.Repeat("!", 200_000),
		"arrows": "let x: any = " + strings.Repeat("a=>", 80_000) + "1",
		"blocks": "let x: any;" + strings.Repeat("{", 100_000) + strings.Repeat("}", 100_000),
		"types":  "type A<B> = " + strings.Repeat("B extends 1 ? 2 : ", 14_000) + "3",
	} {
		s, state, err := open(t).Start(t.Context(), source, Setting{})
		if err == nil {
			s.Close(t.Context())
		}
		if !errors.Is(err, ErrTime) && !errors.Is(err, ErrBroken) && !(err == nil && state.Done) {
			t.Errorf("%s: %+v, %v", name, state, err)
		}
	}
	if out, state := play(t, "const a: number = 1; return a;", tools); out != "1" {
		t.Errorf("afterwards: %q, %+v", out, state)
	}
}

// TestLongTypeScript: reading types takes longer than a step may, and where it takes too long
// the error says so: the one of JavaScript would send its author after a wrong place.
func TestLongTypeScript(t *testing.T) {
	source := strings.Repeat("type A = { a: number; b?: string };\nfunction f<X>(x: X, y: A): X { return x }\n", 300)
	// Types need many times what a step needs here. On a machine that is so busy that a step
	// does not end it gets more; then the types take longer too.
	start := func(source string, steps time.Duration) (*Fault, string) {
		t.Helper()
		for step := 500 * time.Millisecond; ; step *= 2 {
			r := openWith(t, Options{StepTime: step, Time: steps * step})
			s, state, err := r.Start(t.Context(), source+"return 1 as number", Setting{})
			if errors.Is(err, ErrTime) && step < time.Minute {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Close(t.Context())
			return state.Fault, joined(state)
		}
	}
	if fault, out := start(source, 10_000); fault != nil || out != "1" {
		t.Errorf("%+v, %q", fault, out)
	}
	if fault, _ := start(strings.Repeat(source, 9), 2); fault == nil || !strings.Contains(fault.Message, "as TypeScript the script takes too long to read") {
		t.Errorf("%+v", fault)
	}
}

// stripper.js is what build.sh makes of the packages in package-lock.json.
func TestStripperIsWhatItSaysItIs(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("npm is missing: apt install nodejs npm")
		}
		t.Skip("npm is missing: install Node.js and npm")
	}
	out := filepath.Join(t.TempDir(), "stripper.js")
	if text, err := exec.Command("typescript/build.sh", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	built, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(built, stripperSource) {
		t.Errorf("the packages make %d other bytes than the %d that are used; if that is meant, run typescript/build.sh", len(built), len(stripperSource))
	}
}

func BenchmarkTypeScript(b *testing.B) {
	source := strings.Repeat("const f = (a: number, b?: string): number => a;\n{ const x: string = `a`; f(1, x) }\n", 20)[len("const "):]
	source = "let " + strings.ReplaceAll(source, "\nconst f =", "\nf =")
	if _, _, err := open(b).stripper.get(b.Context(), open(b)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, state, err := open(b).Start(b.Context(), source, Setting{})
		if err != nil || state.Fault != nil {
			b.Fatalf("%+v %v", state.Fault, err)
		}
		s.Close(b.Context())
	}
}
