package scriptvm

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
)

// Errors of scripts. What the script itself throws is in State.Fault.
var (
	// ErrSource says that a source is too long or not UTF-8.
	ErrSource = errors.New("the script is too long or not UTF-8")
	// ErrTime says that a step computed for longer than Options.StepTime, or all of them for
	// longer than Options.Time.
	ErrTime = errors.New("the script computes for too long")
	// ErrBroken says that the engine met an error from which no script goes on: its memory
	// is used up, or it has replaced what the engine needs.
	ErrBroken = errors.New("the script has used up its memory, or broken its engine")
)

// A Script is one that runs, or waits. Its methods are for one goroutine at a time.
type Script struct {
	runtime   *Runtime
	module    api.Module
	functions map[string]api.Function
	broken    error         // what ended it; nil: it can go on
	lines     int           // of the source; 0: not known
	left      time.Duration // of Options.Time
	refused   []rejection   // promises that were rejected and that nothing has awaited
}

// A Want is one thing that a script asks of the host.
type Want struct {
	ID int `json:"id"`
	// Kind is "call" (Tool, Args), "text" (UUID), "part" (Part, with the uuid in it), "find" (Query,
	// Count) or "describe" (Tool).
	Kind  string          `json:"kind"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	UUID  string          `json:"uuid"`
	Part  json.RawMessage `json:"part"`
	Query string          `json:"query"`
	Count int             `json:"count"`
}

// An Answer answers a Want.
type Answer struct {
	ID int `json:"id"`
	// Value is what the script receives, as JSON.
	Value json.RawMessage `json:"value,omitempty"`
	// Fault is why it receives nothing, as an error that it may catch; nil: Value counts.
	Fault *Fault `json:"error,omitempty"`
}

// A Fault is an error of a tool, or of the script.
type Fault struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Line and Column are the place in the script, from 1; 0: not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// A State is what a script has reached after a step.
type State struct {
	// Wants are the new things that it asks for, in the order in which it asked.
	Wants Wants `json:"wants,omitempty"`
	// Logged are lines for the log.
	Logged Lines `json:"logged,omitempty"`
	// Done says that the script has ended: with Fault, or with Output.
	Done  bool   `json:"done,omitempty"`
	Fault *Fault `json:"error,omitempty"`
	// Output are the parts of the answer, each a text, or an object {"result": UUID} for
	// the whole of a result.
	Output Parts `json:"output,omitempty"`
	// Idle are the tools of the calls that have their answer and that it did not await, when
	// it has ended well.
	Idle Names `json:"idle,omitempty"`
	// Rejected are the errors of promises that nothing awaited, in the order in which they
	// came, when it has ended.
	Rejected Names `json:"rejected,omitempty"`
}

// Syntax is the Code of a Fault in the syntax of a script: nothing of it has run.
const Syntax = "syntax"

// A program is a source between opening, on its first line, and closing. Errors call it
// file.
const opening, closing, file = "(async () => {", "\n})", "script.js"

// A Setting is what a script finds.
type Setting struct {
	// Tools are the names that it may call. The caller of Start checks them again.
	Tools []string `json:"tools"`
	// Args is a JSON object, the script's args; nil: an empty one.
	Args json.RawMessage `json:"args,omitempty"`
	// Seed is what the script's random numbers begin with. 0 means one that Start chooses.
	Seed uint32 `json:"seed,omitempty"`

	columns [][]int // of TypeScript, as in stripped
}

// Check returns what is wrong in the syntax of a script; nil: nothing. Nothing runs. Errors
// are those of Start.
func (r *Runtime) Check(ctx context.Context, source string) (*Fault, error) {
	s, state, err := r.start(ctx, source, Setting{}, "check")
	if err != nil {
		return nil, err
	}
	return state.Fault, s.Close(ctx)
}

// Start starts a script. Errors are ErrSource, ErrTime, ErrBroken, and those of ctx.
func (r *Runtime) Start(ctx context.Context, source string, set Setting) (*Script, State, error) {
	return r.start(ctx, source, set, "run")
}

func (r *Runtime) start(ctx context.Context, source string, set Setting, what string) (*Script, State, error) {
	if len(source) > MaxSource || !utf8.ValidString(source) {
		return nil, State{}, ErrSource
	}
	s, err := r.fresh(ctx)
	if err != nil {
		return nil, State{}, err
	}
	s.lines = 1 + strings.Count(strings.TrimRight(source, "\n"), "\n")
	if set.Seed == 0 {
		set.Seed = rand.Uint32()
	}
	program := opening + source + closing
	var wrong *thrown
	run := func(ctx context.Context, program string) (State, error) {
		return s.step(ctx, func(ctx context.Context) error {
			f, err := s.eval(ctx, []byte(program))
			if t, ok := errors.AsType[*thrown](err); ok {
				wrong = t
				return nil
			} else if err != nil {
				return err
			}
			wrong = nil
			return s.begin(ctx, what, f, set)
		})
	}
	var fault *Fault
	state, err := run(ctx, program)
	if err == nil && wrong != nil { // it may be TypeScript
		js, failed := s.types(ctx, program)
		switch {
		case failed != nil:
		case js.Fault != nil:
			fault = s.inSource(js.Fault)
		case js.Code != program:
			set.columns = js.Columns
			state, err = run(ctx, js.Code)
		}
		if err == nil && wrong != nil {
			state, err = s.step(ctx, func(ctx context.Context) error { return s.begin(ctx, "broken", wrong.value, set) })
			state.Fault = further(state.Fault, fault)
			if state.Fault != nil {
				state.Fault.Code = Syntax
				if failed != nil && ctx.Err() == nil {
					state.Fault.Message += tooMuch
				}
			}
		}
	}
	if err != nil {
		return nil, State{}, errors.Join(err, s.Close(ctx))
	}
	return s, state, nil
}

// begin hands the prelude a program or what it threw.
func (s *Script) begin(ctx context.Context, what string, value uint64, set Setting) error {
	list, err := s.setting(ctx, set)
	if err != nil {
		return err
	}
	return s.dispatch(ctx, what, value, list)
}

// setting returns a value with a Setting as JSON.
func (s *Script) setting(ctx context.Context, set Setting) (uint64, error) {
	text, err := json.Marshal(struct {
		Setting
		Columns [][]int `json:"columns,omitempty"`
	}{set, set.columns})
	if err != nil {
		return 0, err
	}
	return s.text(ctx, string(text))
}

// Step hands over answers and lets the script run until it waits again or ends.
func (s *Script) Step(ctx context.Context, answers []Answer) (State, error) {
	return s.step(ctx, func(ctx context.Context) error {
		for _, a := range answers {
			text, err := json.Marshal(a)
			if err != nil {
				return err
			}
			h, err := s.text(ctx, string(text))
			if err != nil {
				return err
			}
			if err := s.dispatch(ctx, "give", h); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close frees the script's memory.
func (s *Script) Close(ctx context.Context) error {
	return s.module.Close(ctx)
}

// step runs do and all that follows from it, within the time of a step.
func (s *Script) step(parent context.Context, do func(context.Context) error) (State, error) {
	if s.broken != nil {
		return State{}, s.broken
	}
	// QuickJS stops a tenth of StepTime before it, the module at its end.
	ctx, cancel := context.WithTimeout(context.WithValue(parent, scriptKey{}, s), min(s.runtime.options.StepTime, s.left))
	defer cancel()
	began := time.Now()
	state, err := s.run(ctx, do)
	s.left -= time.Since(began)
	switch {
	case err == nil:
		return state, nil
	case parent.Err() != nil:
		s.broken = parent.Err()
	case ctx.Err() != nil || strings.Contains(err.Error(), "interrupted"):
		s.broken = ErrTime
	default:
		s.broken = ErrBroken
	}
	return State{}, s.broken
}

func (s *Script) run(ctx context.Context, do func(context.Context) error) (State, error) {
	if err := do(ctx); err != nil {
		return State{}, err
	}
	for {
		switch n, err := s.call(ctx, "qjs_execute_pending_job"); {
		case err != nil:
			return State{}, err
		case int32(n) < 0:
			return State{}, s.exception(ctx)
		case n == 0: // there was none
			return s.take(ctx)
		}
	}
}

// take returns what the script has asked for and said since the last take.
func (s *Script) take(ctx context.Context) (State, error) {
	h, err := s.dispatched(ctx, "take")
	if err != nil {
		return State{}, err
	}
	text, err := s.string(ctx, h)
	if err != nil {
		return State{}, err
	}
	var out handover
	if err := json.Unmarshal(text, &out); err != nil {
		return State{}, fmt.Errorf("what the script hands over cannot be read: %w", err)
	}
	state := out.State
	if state.Wants, state.Rejected = out.Wants, nil; state.Done {
		state.Rejected = s.rejected()
	}
	state.bound()
	s.inSource(state.Fault)
	return state, nil
}

// inSource changes the place of a fault in the program to that in the source.
func (s *Script) inSource(f *Fault) *Fault {
	switch {
	case f == nil:
	case f.Line == 1:
		f.Column = max(1, f.Column-len(opening))
	case s.lines > 0 && f.Line > s.lines: // the closing bracket that follows the source
		f.Line, f.Column = s.lines, 0
		f.Message = "SyntaxError: the script ends too early, or closes a bracket that it has not opened"
	}
	return f
}

// further returns the one of two faults that is at a later place: of two parsers the one
// that came further understood more of the source. Nil is no fault.
func further(a, b *Fault) *Fault {
	if a == nil || b != nil && (b.Line > a.Line || b.Line == a.Line && b.Column > a.Column) {
		return b
	}
	return a
}

// ---- QuickJS: a value is a handle, a pointer into the module's memory ----

// call calls a function of the module. Functions without a result return 0.
func (s *Script) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f := s.function(name)
	if f == nil {
		return 0, fmt.Errorf("the engine has no %s", name)
	}
	results, err := f.Call(ctx, args...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

// function returns a function of the module; nil: it has none of that name.
func (s *Script) function(name string) api.Function {
	f, ok := s.functions[name]
	if !ok {
		if f = s.module.ExportedFunction(name); f != nil {
			s.functions[name] = f
		}
	}
	return f
}

// bytes copies bytes and a zero into the module's memory.
func (s *Script) bytes(ctx context.Context, b []byte) (uint64, error) {
	p, err := s.call(ctx, "wasm_malloc", uint64(len(b)+1))
	if err != nil {
		return 0, err
	}
	if p == 0 || !s.module.Memory().Write(uint32(p), b) || !s.module.Memory().WriteByte(uint32(p)+uint32(len(b)), 0) {
		return 0, errors.New("out of memory")
	}
	return p, nil
}

// lend calls f with a place in the module's memory that has bytes and a zero meanwhile. f
// lends nothing itself.
func (s *Script) lend(ctx context.Context, b []byte, f func(p uint64) (uint64, error)) (uint64, error) {
	if p := s.runtime.in.text; p != 0 && len(b) < maxShort {
		if !s.module.Memory().Write(uint32(p), b) || !s.module.Memory().WriteByte(uint32(p)+uint32(len(b)), 0) {
			return 0, errors.New("out of memory")
		}
		return f(p)
	}
	p, err := s.bytes(ctx, b)
	if err != nil {
		return 0, err
	}
	h, err := f(p)
	if err != nil {
		return 0, err
	}
	_, err = s.call(ctx, "wasm_free", p)
	return h, err
}

// text returns a value with a text.
func (s *Script) text(ctx context.Context, text string) (uint64, error) {
	h, err := s.lend(ctx, []byte(text), func(p uint64) (uint64, error) {
		return s.call(ctx, "qjs_new_string", p, uint64(len(text)))
	})
	if err != nil {
		return 0, err
	}
	return s.checked(ctx, h)
}

// string returns the text of a value.
func (s *Script) string(ctx context.Context, h uint64) ([]byte, error) {
	length := s.runtime.in.length
	p, err := s.call(ctx, "qjs_get_string_len", h, length)
	if err != nil {
		return nil, err
	}
	n, ok := s.module.Memory().ReadUint32Le(uint32(length))
	if !ok || p == 0 {
		return nil, errors.New("the value has no text")
	}
	view, ok := s.module.Memory().Read(uint32(p), n)
	if !ok {
		return nil, errors.New("the text lies outside of the memory")
	}
	out := append([]byte(nil), view...)
	_, err = s.call(ctx, "qjs_free_cstring", p)
	return out, err
}

// eval returns the value of a program of a script.
func (s *Script) eval(ctx context.Context, program []byte) (uint64, error) {
	return s.evalAs(ctx, program, s.runtime.in.file)
}

// evalAs returns the value of a program, whose errors call it what is written at name.
func (s *Script) evalAs(ctx context.Context, program []byte, name uint64) (uint64, error) {
	h, err := s.lend(ctx, program, func(code uint64) (uint64, error) {
		return s.call(ctx, "qjs_eval", code, uint64(len(program)), name, 0)
	})
	if err != nil {
		return 0, err
	}
	return s.checked(ctx, h)
}

func (s *Script) dispatch(ctx context.Context, what string, args ...uint64) error {
	_, err := s.dispatched(ctx, what, args...)
	return err
}

// dispatched calls the prelude's function, with values, and returns its value.
func (s *Script) dispatched(ctx context.Context, what string, args ...uint64) (uint64, error) {
	return s.apply(ctx, s.runtime.dispatch, append([]uint64{s.runtime.in.words[what]}, args...), args)
}

// apply calls a function with values, frees some values, and returns its value.
func (s *Script) apply(ctx context.Context, f uint64, args, free []uint64) (uint64, error) {
	var list []byte
	for _, a := range args {
		list = binary.LittleEndian.AppendUint32(list, uint32(a))
	}
	in := s.runtime.in
	if !s.module.Memory().Write(uint32(in.args), list) {
		return 0, errors.New("out of memory")
	}
	h, err := s.call(ctx, "qjs_call", f, in.undefined, uint64(len(args)), in.args)
	if err != nil {
		return 0, err
	}
	for _, a := range free {
		if _, err := s.call(ctx, "qjs_free_value", a); err != nil {
			return 0, err
		}
	}
	return s.checked(ctx, h)
}

// A thrown is an exception of JavaScript, as a value of the module.
type thrown struct {
	value uint64
	text  string
}

func (t *thrown) Error() string { return t.text }

// checked returns a value, or the exception that it says was thrown.
func (s *Script) checked(ctx context.Context, h uint64) (uint64, error) {
	is, err := s.call(ctx, "qjs_is_exception", h)
	if err != nil {
		return 0, err
	}
	if is != 0 {
		return 0, s.exception(ctx)
	}
	return h, nil
}

func (s *Script) exception(ctx context.Context) error {
	h, err := s.call(ctx, "qjs_get_exception")
	if err != nil {
		return err
	}
	text, err := s.string(ctx, h)
	if err != nil {
		return err
	}
	return &thrown{h, string(text)}
}
