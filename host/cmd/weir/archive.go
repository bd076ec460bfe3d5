package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

// archiveKeeping are the archive's commands beside list and show.
func (c *cli) archiveKeeping() []*cobra.Command {
	return []*cobra.Command{archiveSearchCmd(c), archiveGrepCmd(c), archivePruneCmd(c), archiveExportCmd(c), archiveRmCmd(c)}
}

func archiveSearchCmd(c *cli) *cobra.Command {
	var conversation string
	var limit int
	cmd := &cobra.Command{
		Use: "search WORDS...", Short: "Find the results that contain all WORDS, and the lines", Args: argCount(1, -1, "the words to look for"),
		Example: "  weir archive search timeout retry\n  weir archive search 超时 --conversation 6f1c…",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"q": {strings.Join(args, " ")}, "limit": {fmt.Sprint(limit)}}
			return c.within(cmd.Context(), conversation, q, func(cl *session) error { return c.searchArchives(cmd.Context(), cl, q) })
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "only in the conversation with this `ID`")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most `N` lines (default: 20)")
	return cmd
}

func (c *cli) searchArchives(ctx context.Context, cl *session, q url.Values) error {
	var out api.Found
	if done, err := c.Show(ctx, cl, "/api/archives/search?"+q.Encode(), &out); done || err != nil {
		return err
	}
	last := ""
	for _, h := range out.Hits {
		if h.UUID != last {
			last = h.UUID
			fmt.Fprintf(c.Out, "%s  %s  %s  %s\n", h.UUID, h.Created.Local().Format("2006-01-02 15:04"), h.Tool, term.Visible(h.Query, 60))
		}
		if h.Line == 0 {
			c.outf("  (in its call) %s\n", term.Plain(h.Snippet))
			continue
		}
		fmt.Fprintf(c.Out, "  %d: %s\n", h.Line, term.Plain(h.Snippet))
	}
	if len(out.Hits) == 0 {
		c.errf("nothing found; results searched: %d\n", out.Archives)
	}
	if out.Left > 0 {
		c.errf("%d older results were not searched; use rarer words, or a higher --limit\n", out.Left)
	}
	return nil
}

func archiveGrepCmd(c *cli) *cobra.Command {
	var around int
	cmd := &cobra.Command{
		Use: "grep UUID EXPR", Short: "Print the lines of a result that match an RE2 expression", Args: argCount(2, 2, "a uuid and an expression"),
		Example: "  weir archive grep 6f1c… 'ERROR|panic' --context 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			selectors := []string{"grep=" + args[1]}
			if around > 0 {
				selectors = append(selectors, fmt.Sprintf("context=%d", around))
			}
			return c.withClient(cmd.Context(), func(cl *session) error { return c.showArchive(cmd.Context(), cl, args[0], selectors) })
		},
	}
	cmd.Flags().IntVarP(&around, "context", "C", 0, "`N` lines around each match")
	return cmd
}

func archivePruneCmd(c *cli) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove the texts that [archive] max_age, max_bytes and max_count do not keep", Args: argCount(0, 0, "no arguments"),
		Long: "Remove the texts that [archive] in tools.toml does not keep, as the daemon does every ten minutes.\nThe rows stay and say which call brings a text again; of the texts nothing stays on the disk.",
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			return c.pruneArchives(ctx, cl, dry)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would go")
	return cmd
}

func (c *cli) pruneArchives(ctx context.Context, cl *session, dry bool) error {
	body := map[string]bool{"dry_run": dry}
	if c.JSON {
		var raw any
		if err := cl.Post(ctx, "/api/archives/prune", body, &raw); err != nil {
			return err
		}
		c.Print(raw)
		return nil
	}
	var out api.Pruned
	if err := cl.Post(ctx, "/api/archives/prune", body, &out); err != nil {
		return err
	}
	if len(out.Pruned) > 0 {
		c.Table("UUID\tWHEN\tTOOL\tBYTES\tBECAUSE OF", func(w io.Writer) {
			for _, p := range out.Pruned {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", p.UUID, p.Created.Local().Format("2006-01-02 15:04"), p.Tool, p.Bytes, p.Reason)
			}
		})
	}
	word := "removed"
	if dry {
		word = "would remove"
	}
	c.outf("%s %d texts of %d bytes; %d of %d bytes stay\n", textOf(word), out.Count, out.Bytes, out.Kept, out.KeptBytes)
	return nil
}

func archiveExportCmd(c *cli) *cobra.Command {
	var conversation string
	cmd := &cobra.Command{
		Use: "export --conversation ID", Short: "Print a conversation with its whole results as JSON lines", Args: argCount(0, 0, "--conversation alone"),
		Long:    "Print everything of one conversation as JSON lines: itself, its messages, its calls, its whole results.",
		Example: "  weir archive export --conversation 6f1c… > talk.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if conversation == "" {
				return usagef("`weir archive list --json` tells the conversation of each result", "--conversation ID is missing")
			}
			return c.ofConversation(cmd.Context(), conversation, func(cl *session, path string) error {
				return c.download(cmd.Context(), cl, path+"/export", c.Texts())
			})
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "the conversation's `ID`")
	return cmd
}

func archiveRmCmd(c *cli) *cobra.Command {
	var conversation string
	cmd := &cobra.Command{
		Use: "rm UUID... | rm --conversation ID", Short: "Delete results, or a conversation with everything in it, for good", Args: argCount(0, -1, "uuids"),
		Long: "Delete whole results: nothing of their texts stays on the disk. What the conversation shows of them stays\nuntil the conversation itself is deleted, with --conversation.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (conversation == "") {
				return usagef("weir archive rm UUID… or weir archive rm --conversation ID", "name either results or a conversation")
			}
			return c.withClient(cmd.Context(), func(cl *session) error { return c.remove(cmd.Context(), cl, args, conversation) })
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "delete the conversation with this `ID`, its messages and its results")
	return cmd
}

// remove deletes one after the other. It deletes nothing if one is not there.
func (c *cli) remove(ctx context.Context, cl *session, uuids []string, conversation string) error {
	if conversation != "" {
		id, err := cl.Conversation(ctx, conversation)
		if err == nil {
			err = cl.Do(ctx, http.MethodDelete, "/api/conversations/"+url.PathEscape(id), nil, nil)
		}
		if err == nil {
			c.deleted("conversation", []string{id})
		}
		return err
	}
	uuids, err := each(uuids, func(id string) (string, error) { return cl.Result(ctx, id, "") })
	if err != nil {
		return err
	}
	for i, id := range uuids {
		if err := cl.Do(ctx, http.MethodDelete, "/api/archives/"+url.PathEscape(id), nil, nil); err != nil {
			if i > 0 {
				c.errf("deleted %s\n", strings.Join(uuids[:i], " "))
			}
			return err
		}
	}
	c.deleted("archives", uuids)
	return nil
}

func (c *cli) deleted(kind string, ids []string) {
	if c.AsJSON(map[string]any{"deleted": map[string][]string{kind: ids}}) {
		return
	}
	c.errf("deleted %s\n", strings.Join(ids, " "))
}

func archiveCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "archive", Short: "Read the whole results that are kept"}
	var conversation, name, query string
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List the archived results, newest first", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			for key, v := range map[string]string{"tool": name, "q": query} {
				if v != "" {
					q.Set(key, v)
				}
			}
			return c.within(cmd.Context(), conversation, q, func(cl *session) error { return c.listArchives(cmd.Context(), cl, q) })
		},
	}
	list.Flags().StringVar(&conversation, "conversation", "", "only of the conversation with this `ID`")
	list.Flags().StringVar(&name, "tool", "", "only results of this `TOOL`")
	list.Flags().StringVar(&query, "query", "", "only where the call holds this `TEXT`")
	list.Flags().IntVar(&limit, "limit", 50, "at most `N` rows")
	var output string
	var part int
	show := &cobra.Command{
		Use:   "show UUID [lines=a-b] [grep=EXPR] [context=N] [pointer=/PATH] [head=N] [tail=N] [offset=N]",
		Short: "Print an archived result, or a part of it", Args: argCount(1, -1, "a uuid and selectors"),
		Long:    "Print an archived result, or a part of it. With --output, write its picture or other file to FILE; if it has\nnone, its whole text.",
		Example: "  weir archive show 6f1c… lines=95-140\n  weir archive show 6f1c… grep=ERROR context=2\n  weir archive show 6f1c… --output picture.png",
		RunE: func(cmd *cobra.Command, args []string) error {
			picks := cmd.Flags().Changed("part")
			switch {
			case picks && output == "":
				return usagef("add --output FILE", "--part needs a file to write to")
			case output != "" && len(args) > 1:
				return usagef("leave the selectors out, or --output", "--output writes a whole file")
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				if output != "" {
					return c.saveArchive(cmd.Context(), cl, args[0], output, part, picks)
				}
				return c.showArchive(cmd.Context(), cl, args[0], args[1:])
			})
		},
	}
	show.Flags().StringVarP(&output, "output", "o", "", "write the result's picture or file to `FILE`")
	show.Flags().IntVar(&part, "part", 0, "of several pictures or files, the one with number `N`, from 0")
	cmd.AddCommand(list, show)
	cmd.AddCommand(c.archiveKeeping()...)
	return cmd
}

func (c *cli) showArchive(ctx context.Context, cl *session, given string, selectors []string) error {
	_, err := chat.ShowArchive(ctx, c.Printer, cl.Client, given, selectors, "", false)
	return err
}

// saveArchive writes a file of a result, or its whole text if it has no file and none is
// picked, to a file.
func (c *cli) saveArchive(ctx context.Context, cl *session, given, output string, part int, picks bool) error {
	uuid, err := cl.Result(ctx, given, "")
	if err != nil {
		return err
	}
	path := "/api/archives/" + url.PathEscape(uuid)
	resp, err := cl.Send(ctx, http.MethodGet, path+"/parts/"+strconv.Itoa(part), nil)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotFound && !picks {
		resp, err = cl.Send(ctx, http.MethodGet, path+"/raw", nil)
	} else if ok && p.Status == http.StatusNotFound {
		return msg.Errorf("the result has no part %d", part)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(output)
	if err != nil {
		return usagef("name a new file in a folder that can be written", "%s cannot be written: %s", output, msg.Reason(err))
	}
	n, err := io.Copy(f, resp.Body)
	if err := errors.Join(err, f.Close()); err != nil {
		return usagef("name a new file in a folder that can be written", "%s cannot be written: %s", output, msg.Reason(err))
	}
	c.errf("%s: %d bytes\n", output, n)
	return nil
}

func (c *cli) listArchives(ctx context.Context, cl *session, q url.Values) error {
	var out api.ArchiveList
	if done, err := c.Show(ctx, cl, "/api/archives?"+q.Encode(), &out); done || err != nil {
		return err
	}
	c.Table("UUID\tWHEN\tTOOL\tCHARACTERS\tLINES\tLOADS\tQUERY", func(w io.Writer) {
		for _, a := range out.Archives {
			state := ""
			if a.Pruned {
				state = c.Sprintf(" (pruned)")
			}
			fmt.Fprintf(w, "%s\t%s\t%s%s\t%d\t%d\t%d\t%s\n", a.UUID, a.Created.Local().Format("2006-01-02 15:04"), a.Tool, state, a.Chars, a.Lines, a.Loads, term.Visible(a.Query, 50))
		}
	})
	return nil
}
