package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

func conversationCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "conversation", Short: "List, read, rename, search, export and delete conversations"}
	cmd.AddCommand(conversationListCmd(c), conversationShowCmd(c), conversationRenameCmd(c), conversationSearchCmd(c), conversationExportCmd(c), conversationDeleteCmd(c))
	return cmd
}

func conversationListCmd(c *cli) *cobra.Command {
	var limit int
	var cursor string
	cmd := &cobra.Command{
		Use: "list", Short: "List the conversations, the one used last first", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{"limit": {fmt.Sprint(limit)}, "cursor": {cursor}}
			return c.withClient(cmd.Context(), func(cl *session) error { return c.listConversations(cmd.Context(), cl, q) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N`; 0: 100")
	cmd.Flags().StringVar(&cursor, "cursor", "", "continue after a page with the `TEXT` that it named")
	return cmd
}

func (c *cli) listConversations(ctx context.Context, cl *session, q url.Values) error {
	var out api.ConversationList
	if done, err := c.Show(ctx, cl, "/api/conversations?"+q.Encode(), &out); done || err != nil {
		return err
	}
	if len(out.Conversations) == 0 {
		c.errf("there are no conversations\n")
		return nil
	}
	c.Table("ID\tUSED\tMESSAGES\tCALLS\tTOKENS\tCOST\tMODEL\tTITLE", func(w io.Writer) {
		for _, x := range out.Conversations {
			model := ""
			if len(x.Models) > 0 {
				model = x.Models[0]
			}
			if x.Client != "" {
				model += " (" + x.Client + ")"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", term.Plain(x.ID), x.Updated.Local().Format("2006-01-02 15:04"), x.Messages, x.Calls, x.Prompt+x.Completion,
				costText(x.Cost), term.OrDash(term.Plain(model)), term.OneLine(term.Plain(x.Title), 60))
		}
	})
	if out.Next != "" {
		c.errf("there are more: weir conversation list --limit %s --cursor %s\n", q.Get("limit"), out.Next)
	}
	return nil
}

// costText writes sums of money on one line.
func costText(list []store.Cost) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%.4g %s", s.Amount, term.Plain(s.Currency)))
	}
	return term.OrDash(strings.Join(out, " + "))
}

func conversationShowCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Read a conversation", Args: argCount(1, 1, "the id of a conversation"),
		Long: "Read a conversation: its questions, answers, calls and results, as Markdown.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.ofConversation(cmd.Context(), args[0], func(cl *session, path string) error {
				if c.JSON {
					_, err := c.Show(cmd.Context(), cl, path, nil)
					return err
				}
				q, err := c.exportQuery("markdown", false, "")
				if err != nil {
					return err
				}
				return c.download(cmd.Context(), cl, path+"/export?"+q.Encode(), &term.Cleaner{W: c.Out, Clean: term.Plain})
			})
		},
	}
}

// download writes what a route answers, as it comes.
func (c *cli) download(ctx context.Context, cl *session, path string, to io.Writer) error {
	resp, err := cl.Send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	cleaner, cleans := to.(*term.Cleaner)
	if !cleans && !term.IsTerminal(to) { // where the text itself shows how far it is
		what := c.Sprintf("exporting")
		tell, done := c.Progress(what)
		defer done()
		to = &progressWriter{w: to, every: 1 << 20, tell: func(n int) { tell(what + " · " + term.Size(n)) }}
	}
	_, err = io.Copy(to, resp.Body)
	if cleans && err == nil {
		err = cleaner.Flush()
	}
	if err != nil {
		return msg.Errorf("the export broke off; what was written is not everything")
	}
	return nil
}

// A progressWriter reports how many bytes were written, after every so many.
type progressWriter struct {
	w         io.Writer
	every     int
	tell      func(n int)
	all, told int
}

func (p *progressWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if p.all += n; p.all-p.told >= p.every {
		p.told = p.all
		p.tell(p.all)
	}
	return n, err
}

func conversationRenameCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "rename ID TITLE...", Short: "Give a conversation another title", Args: argCount(1, -1, "the id of a conversation and its new title"),
		Long: "Give a conversation another title, of at most 200 characters. Without a title it gets the one that is made\nfrom its first question again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.ofConversation(cmd.Context(), args[0], func(cl *session, path string) error {
				var row api.ConversationRow
				if err := cl.Do(cmd.Context(), http.MethodPatch, path, api.Renaming{Title: strings.Join(args[1:], " ")}, &row); err != nil {
					return err
				}
				if c.AsJSON(row) {
					return nil
				}
				c.errf("it is called %q now\n", term.Plain(row.Title))
				return nil
			})
		},
	}
}

func conversationSearchCmd(c *cli) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "search WORDS...", Short: "Find the messages and titles that contain all WORDS", Args: argCount(1, -1, "the words to look for"),
		Long: "Find the messages and titles that contain all WORDS, three of each conversation at most. Words are looked\nfor as they are, in any case. Of long results the messages hold a part: `weir archive search` looks in the whole.",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"q": {strings.Join(args, " ")}, "limit": {fmt.Sprint(limit)}}
			return c.withClient(cmd.Context(), func(cl *session) error { return c.searchConversations(cmd.Context(), cl, q) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "at most `N` places (default: 20)")
	return cmd
}

func (c *cli) searchConversations(ctx context.Context, cl *session, q url.Values) error {
	var out api.ConversationsFound
	if done, err := c.Show(ctx, cl, "/api/conversations/search?"+q.Encode(), &out); done || err != nil {
		return err
	}
	last := ""
	for _, h := range out.Hits {
		if h.Conversation != last {
			last = h.Conversation
			fmt.Fprintf(c.Out, "%s  %s\n", term.Plain(h.Conversation), term.OneLine(term.Plain(h.Title), 80))
		}
		where := h.Where
		if h.Message > 0 {
			where = fmt.Sprintf("%s %d, line %d", h.Where, h.Turn, h.Line)
		}
		fmt.Fprintf(c.Out, "  %s: %s\n", where, term.Plain(h.Snippet))
	}
	if len(out.Hits) == 0 {
		c.errf("nothing found\n")
	}
	if out.Stopped {
		c.errf("older conversations were not searched; use rarer words, or a higher --limit\n")
	}
	return nil
}

func conversationExportCmd(c *cli) *cobra.Command {
	var format, locale, file string
	var archives bool
	cmd := &cobra.Command{
		Use: "export ID", Short: "Print everything of a conversation as JSON or Markdown", Args: argCount(1, 1, "the id of a conversation"),
		Long: "Print everything of a conversation: its messages, calls, results with what was cut, and what is archived; with\n" +
			"--archives the whole texts too. json is one document, jsonl one line for each part and always whole, markdown\nis for people.",
		Example: "  weir conversation export 6f1c… --format markdown -o talk.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := c.exportQuery(format, archives, locale)
			if err != nil {
				return err
			}
			return c.ofConversation(cmd.Context(), args[0], func(cl *session, path string) error {
				path += "/export?" + q.Encode()
				if file == "" {
					return c.download(cmd.Context(), cl, path, c.Texts())
				}
				return c.downloadTo(cmd.Context(), cl, path, file)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "json", "json, jsonl or markdown")
	f.BoolVar(&archives, "archives", false, "with the whole archived texts")
	f.StringVar(&locale, "locale", "", "the language of Markdown's headings, en or zh (default: yours)")
	f.StringVarP(&file, "output", "o", "", "write to a new `FILE` instead of standard output")
	return cmd
}

// exportQuery asks for an export; the language is the reader's where none is
// given.
func (c *cli) exportQuery(format string, archives bool, locale string) (url.Values, error) {
	q := url.Values{"format": {format}}
	if archives || format == "jsonl" {
		q.Set("archives", "true")
	}
	if locale == "" {
		locale = string(c.language())
	}
	if locale != string(tool.En) && locale != string(tool.Zh) {
		return nil, usagef("use en or zh", "there is no locale %q", locale)
	}
	q.Set("locale", locale)
	return q, nil
}

// downloadTo writes a new file that only its owner can read; of what broke off
// nothing stays.
func (c *cli) downloadTo(ctx context.Context, cl *session, path, file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usagef("name a new file in a folder that can be written", "%s cannot be written: %s", file, msg.Reason(err))
	}
	err = errors.Join(c.download(ctx, cl, path, f), f.Close())
	if err != nil {
		_ = os.Remove(file) // the first error is the one to tell
	}
	return err
}

func conversationDeleteCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID...", Short: "Delete conversations with all that belongs to them, for good", Args: argCount(1, -1, "the ids of conversations"),
		Long: "Delete conversations with their messages, calls and archived results: nothing of them stays on the disk. What\n" +
			"they took of a quota stays counted, and a backup keeps what it holds. One that is answering is refused.",
		RunE: c.request(func(ctx context.Context, cl *session, args []string) error {
			return c.deleteConversations(ctx, cl, args)
		}),
	}
}

func (c *cli) deleteConversations(ctx context.Context, cl *session, ids []string) error {
	ids, err := each(ids, func(id string) (string, error) { return cl.Conversation(ctx, id) })
	if err != nil {
		return err
	}
	gone := []api.DeletedConversation{}
	for _, id := range ids {
		var d api.DeletedConversation
		if err := cl.Do(ctx, http.MethodDelete, "/api/conversations/"+url.PathEscape(id), nil, &d); err != nil {
			return err
		}
		gone = append(gone, d)
		if !c.JSON {
			c.outf("deleted %s; messages: %d, calls: %d, archived results: %d (%d bytes)\n", term.Plain(d.ID), d.Messages, d.Calls, d.Archives, d.ArchiveBytes)
		}
	}
	if c.JSON {
		c.Print(map[string]any{"deleted": gone})
	}
	return nil
}
