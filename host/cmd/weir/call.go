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
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func callCmd(c *cli) *cobra.Command {
	var conversation, locale string
	cmd := &cobra.Command{
		Use: "call TOOL [ARGUMENTS]", Short: "Run one tool without a model",
		Long:    "Run one tool and print what a model would see of its result. ARGUMENTS is a JSON object\nor a list of name=value; - reads the JSON from standard input.",
		Example: "  weir call calculator '{\"expression\":\"2^64\"}'\n  weir call grep_search pattern=ErrTimeout",
		Args:    argCount(1, -1, "a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if locale == "" {
				locale = string(c.language())
			}
			if locale != string(tool.En) && locale != string(tool.Zh) {
				return usagef("use en or zh", "--locale is %q", locale)
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				raw, err := c.arguments(args[1:], func() []string { return textParams(cmd.Context(), cl, args[0]) })
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
	if c.JSON {
		c.Print(res)
	} else {
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

// textParams lists the arguments of a tool that are text and nothing else.
func textParams(ctx context.Context, cl *session, name string) []string {
	var t plugin.ToolInfo
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	if cl.Get(ctx, "/api/tools/"+url.PathEscape(name), &t) != nil || json.Unmarshal(t.Spec.Params, &schema) != nil {
		return nil // the call itself says what is wrong
	}
	var out []string
	for name, p := range schema.Properties {
		if p.Type == "string" {
			out = append(out, name)
		}
	}
	return out
}

// arguments makes the JSON object of a call from the command
// line. A value of name=value is text where the tool takes text, which texts
// lists; else JSON where it reads as JSON, else text.
func (c *cli) arguments(args []string, texts func() []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	text := args[0]
	if text == "-" {
		var err error
		if text, err = readText(c.In, "standard input"); err != nil {
			return nil, err
		}
	}
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return nil, usagef(`quote the whole object for the shell: '{"name":"value"}'`, "the arguments are not valid JSON")
		}
		return json.RawMessage(text), nil
	}
	object, isText := map[string]json.RawMessage{}, texts()
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, usagef(`write a JSON object or name=value`, "%q is not an argument", a)
		}
		v := json.RawMessage(value)
		if !json.Valid(v) || slices.Contains(isText, name) {
			v, _ = json.Marshal(value) // a string always marshals
		}
		object[name] = v
	}
	return json.Marshal(object)
}
