package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// maxInput bounds what ask reads from files and standard input, in bytes.
const maxInput = 4 << 20

// askFlags are the flags of ask.
type askFlags struct {
	api.Ask
	files       []string
	quiet, wait bool
	think       bool
	last        bool
}

func askCmd(c *cli) *cobra.Command {
	var a askFlags
	cmd := &cobra.Command{
		Use: "ask [QUESTION]", Short: "Ask one question",
		Long: "Ask one question and print the answer and its sources on stdout. Each tool call is one line on stderr.\n" +
			"Without QUESTION, or with -, the question is read from standard input; with QUESTION, what is piped\n" +
			"in or redirected is appended to it, and so is each FILE.\n\n" +
			"It exits with 0: answered, 1: could not be done, 2: wrong usage or configuration, 3: the model failed\n" +
			"or said nothing, 130: interrupted.",
		Example: "  weir ask 'What is 17 * 23?'\n  git diff | weir ask 'Is there a mistake in this?'\n" +
			"  weir ask -f main.go -f main_test.go 'What is not tested?'\n  weir ask --json 'Make a long text' | jq -r .answer\n" +
			"  weir ask --explain 'Where is ErrTimeout returned?'",
		Args: argCount(0, -1, "one question"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.askOnce(cmd.Context(), a, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&a.Model, "model", "m", "", "the `NAME` of a configured model (default: the profile's)")
	f.StringVar(&a.Profile, "profile", "", "the `NAME` of an agent profile")
	continueFlags(f, &a.Conversation, &a.last)
	f.StringArrayVarP(&a.files, "file", "f", nil, "append a `FILE` to the question; may be repeated")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print the answer alone")
	f.BoolVar(&a.wait, "wait", false, "where no person can be asked here: let calls that need permission wait for \"weir approvals\" in another terminal")
	f.BoolVar(&a.think, "think", false, "show on stderr what the model thinks, where it says so")
	f.BoolVar(&a.Explain, "explain", false, "tell after the answer what was sent to the model, what was cut by which limit, and what that saved")
	return cmd
}

// continueFlags adds the flags that name the conversation which goes on.
func continueFlags(f *pflag.FlagSet, id *string, last *bool) {
	f.StringVar(id, "conversation", "", "continue the conversation with this `ID`, a part of it is enough; last: the last one")
	f.BoolVarP(last, "continue", "c", false, "continue the last conversation")
}

// continued returns the name of the conversation by the flags of continueFlags.
func continued(id string, last bool) (string, error) {
	switch {
	case !last:
		return id, nil
	case id != "":
		return "", usagef("use one of them", "--continue and --conversation exclude each other")
	}
	return client.Last, nil
}

func (c *cli) askOnce(ctx context.Context, a askFlags, args []string) error {
	var err error
	if a.Conversation, err = continued(a.Conversation, a.last); err != nil {
		return err
	}
	if a.Message, a.Attached, err = c.question(args, a.files); err != nil {
		return err
	}
	var answers chat.Answers
	if c.Interactive() && !fromInput(args) {
		answers = chat.NewLines(c.In)
	}
	return c.withClient(ctx, func(cl *session) error {
		if a.Conversation, err = cl.Conversation(ctx, a.Conversation); err != nil {
			return err
		}
		if err := c.checkPlace(ctx, cl, "", a.quiet); err != nil {
			return err
		}
		if a.wait && cl.local {
			return usagef("start `weir serve` first", "--wait is for a running daemon: only there can `weir approvals` answer")
		}
		t := &chat.Turn{Printer: c.Printer, Quiet: a.quiet || c.JSON, Wait: a.wait && answers == nil, Think: a.think && !c.JSON, Complete: func(p *api.Problem) { c.completeKey(cl, p) }}
		err := t.Run(ctx, cl.Client, a.Ask, answers)
		var tr *api.Trace
		if a.Explain && t.End != nil && !c.Events {
			tr = chat.LastTrace(context.WithoutCancel(ctx), cl, t.End.Conversation)
		}
		if c.JSON && !c.Events && t.End != nil {
			c.Print(struct {
				*api.ChatEnd
				Error *api.Problem `json:"error,omitempty"`
				Trace *api.Trace   `json:"trace,omitempty"`
			}{t.End, t.Problem, tr})
		}
		err = t.Outcome(err)
		if tr != nil && !c.JSON {
			fmt.Fprint(c.Err, "\n"+c.Wrap(c.Err, chat.ExplainText(c.Printer, *tr)))
		}
		return err
	})
}

// fromInput reports whether the question itself is read from standard input.
func fromInput(args []string) bool { q := strings.Join(args, " "); return q == "" || q == "-" }

// question returns what the arguments say, and what standard input and files attach to it.
func (c *cli) question(args, files []string) (typed string, attached []api.Attachment, err error) {
	if !fromInput(args) {
		typed = strings.Join(args, " ")
	}
	if fromInput(args) || hasInput(c.In) {
		text, err := readText(c.In, "standard input")
		if err != nil {
			return "", nil, err
		}
		if text = strings.TrimSpace(text); text != "" {
			attached = append(attached, api.Attachment{Text: text})
		}
	}
	if typed == "" && len(attached) == 0 {
		return "", nil, usagef(`weir ask "your question"`, "there is no question")
	}
	for _, name := range files {
		text, err := readFile(name)
		if err != nil {
			return "", nil, err
		}
		attached = append(attached, api.Attachment{Name: name, Text: text})
	}
	return typed, attached, nil
}

// hasInput reports whether somebody put something into standard input: a pipe or a
// file is, a terminal and /dev/null are not.
func hasInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return true
	}
	st, err := f.Stat()
	return err == nil && (st.Mode().IsRegular() || st.Mode()&fs.ModeNamedPipe != 0)
}

func readFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", usagef("check the path", "the file %s cannot be read: %s", name, msg.Reason(err))
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return "", usagef("name the files in it", "%s is a folder", name)
	}
	return readText(f, "the file "+name)
}

// readText reads what is text and not too long.
func readText(r io.Reader, what string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return "", usagef("check the path", "%s cannot be read: %s", what, msg.Reason(err))
	case len(b) > maxInput:
		return "", usagef("give a part of it", "%s is longer than %s", what, tool.Bytes(maxInput))
	case bytes.IndexByte(b, 0) >= 0:
		return "", usagef("give text, or let a tool read it", "%s is not text", what)
	}
	return string(b), nil
}

// A jsonFlag is --json: alone, or with =events for those who ask.
type jsonFlag struct{ c *cli }

// Set implements pflag.Value.
func (f jsonFlag) Set(v string) error {
	switch v {
	case "true", "events":
		f.c.JSON, f.c.Events = true, v == "events"
	case "false":
		f.c.JSON, f.c.Events = false, false
	default:
		return msg.Errorf("%q is not true, false or events", v)
	}
	return nil
}

// String implements pflag.Value.
func (f jsonFlag) String() string { return "" }

// Type implements pflag.Value; a flag of this type needs no value.
func (f jsonFlag) Type() string { return "bool" }
