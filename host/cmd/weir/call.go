package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func callCmd(c *cli) *cobra.Command {
	var conversation, locale string
	cmd := &cobra.Command{
		Use: "call TOOL [ARGUMENTS]", Short: "Run one tool without a model",
		Long:    "Run one tool and print what a model would see of its result. ARGUMENTS is a JSON object\nor a list of name=value; a value alone is the next argument\nin the order of `weir tools show TOOL`. - reads the JSON from standard input.",
		Example: "  weir call calculator '{\"expression\":\"2^64\"}'\n  weir call grep_search pattern=ErrTimeout\n  weir call grep_search ErrTimeout path=docs",
		Args:    argCount(1, -1, "a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if locale == "" {
				locale = string(c.language())
			}
			if locale != string(tool.En) && locale != string(tool.Zh) {
				return usagef("use en or zh", "--locale is %q", locale)
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				raw, err := c.arguments(args[1:], func() (names, texts []string) { return params(cmd.Context(), cl, args[0]) })
				if err != nil {
					return err
				}
				if err := c.checkPlace(cmd.Context(), cl, args[0], false); err != nil {
					return err
				}
				if conversation, err = cl.Conversation(cmd.Context(), conversation); err != nil {
					return err
				}
				if raw, err = cl.Arguments(cmd.Context(), args[0], raw, conversation); err != nil {
					return err
				}
				body := map[string]any{"arguments": raw, "conversation_id": conversation, "locale": tool.Locale(locale)}
				var res api.ToolCallResult
				if err := cl.Post(cmd.Context(), "/api/tools/"+url.PathEscape(args[0])+"/call", body, &res); err != nil {
					return err
				}
				return c.showResult(res)
			})
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "keep the whole result in the conversation with this `ID` (default: one for calls alone)")
	cmd.Flags().StringVar(&locale, "locale", "", "the language of notices and errors, en or zh (default: yours)")
	return cmd
}

func (c *cli) showResult(res api.ToolCallResult) error {
	if !c.AsJSON(res) {
		fmt.Fprintln(c.Texts(), strings.TrimRight(res.Text, "\n"))
		fmt.Fprintln(c.Err, res.Line)
		if res.KeptUUID != "" && res.Layer != "" {
			c.errf("the whole: weir archive show %s\n", res.KeptUUID)
		}
	}
	if !res.OK {
		return term.ExitError(term.ExitTool)
	}
	return nil
}

// params lists the arguments of a tool in the order of its schema, and those that are
// text and nothing else.
func params(ctx context.Context, cl *session, name string) (names, texts []string) {
	var t plugin.ToolInfo
	var schema struct{ Properties json.RawMessage }
	if cl.Get(ctx, "/api/tools/"+url.PathEscape(name), &t) != nil || json.Unmarshal(t.Spec.Params, &schema) != nil {
		return nil, nil // the call itself says what is wrong
	}
	for name, raw := range jsonscan.Members(string(schema.Properties)) {
		names = append(names, name)
		var p struct{ Type any }
		if json.Unmarshal([]byte(raw), &p) == nil && p.Type == "string" {
			texts = append(texts, name)
		}
	}
	return names, texts
}

// arguments makes the JSON object of a call from the command line. Values without a
// name go by the order of the tool's arguments, which params returns. A value is text
// where the tool takes text; else JSON where it reads as JSON, else text.
func (c *cli) arguments(args []string, params func() (names, texts []string)) (_ json.RawMessage, err error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	text := args[0]
	if text == "-" {
		if text, err = readText(c.In, "standard input"); err != nil {
			return nil, err
		}
	}
	if args[0] == "-" || len(args) == 1 && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return nil, usagef(`quote the whole object for the shell: '{"name":"value"}'`, "the arguments are not valid JSON")
		}
		return json.RawMessage(text), nil
	}
	object := map[string]json.RawMessage{}
	names, texts := params()
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok && len(names) > 0 {
			name, value, names = names[0], a, names[1:]
		} else if !ok || name == "" {
			return nil, usagef(`write a JSON object or name=value`, "%q is not an argument", a)
		}
		object[name] = json.RawMessage(value)
		if !json.Valid(object[name]) || slices.Contains(texts, name) {
			object[name], _ = json.Marshal(value) // a string always marshals
		}
	}
	return json.Marshal(object)
}
