package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	archivePrefix = "weir://archive/"
	serverPrefix  = "weir://server/" // the instructions of another server
	textType      = "text/plain; charset=utf-8"
	// selectors choose a part of a result, as load_tool_history does.
	selectors = "lines,grep,context,pointer,head,tail,offset"
)

func archiveURI(id string) string { return archivePrefix + id }

func partURI(id string, i int) string { return archivePrefix + id + "/part/" + strconv.Itoa(i) }

// offerArchive lets clients read archived results by address.
func (u *user) offerArchive() {
	w := textsIn(u.locale())
	for _, t := range []mcp.ResourceTemplate{
		{URITemplate: archivePrefix + "{uuid}", Name: "archived result", MIMEType: textType, Description: w.kept},
		{URITemplate: archivePrefix + "{uuid}{?" + selectors + "}", Name: "part of an archived result", MIMEType: textType, Description: w.part},
		{URITemplate: archivePrefix + "{uuid}/part/{n}", Name: "part that is not text", Description: w.blob},
		{URITemplate: serverPrefix + "{name}", Name: "instructions of a server", MIMEType: textType, Description: w.server},
	} {
		u.sdk.AddResourceTemplate(&t, u.read)
	}
}

// pageSize is how many archived results are listed at once.
const pageSize = 100

// archives lists the instructions of other servers, then the principal's archived results,
// the newest first.
func (u *user) archives(ctx context.Context, p *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
	offset := 0
	if p != nil && p.Cursor != "" {
		var err error
		if offset, err = strconv.Atoi(p.Cursor); err != nil || offset < 0 {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: textsIn(u.locale()).cursor}
		}
	}
	entries, err := u.s.cfg.Host.Archive().List(ctx, archive.Scope{Principal: u.principal}, archive.Filter{Limit: pageSize + 1, Offset: offset, Everywhere: true})
	if err != nil {
		return nil, u.unreadable(ctx, err)
	}
	out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, Cacheable: mcp.Cacheable{CacheScope: "private"}}
	if len(entries) > pageSize {
		entries, out.NextCursor = entries[:pageSize], strconv.Itoa(offset+pageSize)
	}
	if offset == 0 {
		out.Resources = append(out.Resources, u.servers()...)
	}
	for _, e := range entries {
		if !e.Pruned {
			out.Resources = append(out.Resources, resourceOf(e))
		}
	}
	return out, nil
}

// servers lists the instructions of those servers of which the user may call a tool.
func (u *user) servers() (out []*mcp.Resource) {
	said := u.instructions()
	for _, name := range slices.Sorted(maps.Keys(said)) {
		out = append(out, &mcp.Resource{
			URI: serverPrefix + name, Name: name, Title: name, Description: textsIn(u.locale()).server, MIMEType: textType, Size: int64(len(said[name])),
		})
	}
	return out
}

// instructions returns what these servers say of how their tools are used, by their names.
func (u *user) instructions() map[string]string {
	out := map[string]string{}
	for _, s := range u.tools().Tools() {
		if r := s.Remote; r != nil && r.Instructions != "" && u.offers(s.Name) {
			out[r.Server] = r.Instructions
		}
	}
	return out
}

func resourceOf(e archive.Entry) *mcp.Resource {
	return &mcp.Resource{
		URI: archiveURI(e.UUID), Name: e.Tool, Title: strings.TrimSpace(e.Tool + " " + e.Query), Description: e.Summary, MIMEType: textType, Size: int64(e.Bytes),
		Annotations: &mcp.Annotations{LastModified: e.Created.UTC().Format(time.RFC3339)},
	}
}

// read reads an archived result, a part of its text or one of its blobs, or the instructions
// of a server.
func (u *user) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	content, err := u.content(ctx, uri)
	var bad *tool.Error
	switch {
	case errors.As(err, &bad):
		bad = msg.ToolError(u.locale(), bad)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: strings.TrimSuffix(bad.Msg+"; "+bad.Hint, "; ")}
	case errors.Is(err, archive.ErrNotFound):
		return nil, u.missing(uri, textsIn(u.locale()).missing)
	case err != nil:
		return nil, err
	}
	content.URI = uri
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{content}}, nil
}

// missing is the protocol's error for what is not there, in our words.
func (u *user) missing(uri, why string) error {
	err := mcp.ResourceNotFoundError(uri)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		e.Message = why
	}
	return err
}

func (u *user) content(ctx context.Context, uri string) (*mcp.ResourceContents, error) {
	if name, ok := strings.CutPrefix(uri, serverPrefix); ok {
		if said := u.instructions()[name]; said != "" {
			return &mcp.ResourceContents{MIMEType: textType, Text: said}, nil
		}
		return nil, archive.ErrNotFound
	}
	rest, ok := strings.CutPrefix(uri, archivePrefix)
	if !ok {
		return nil, archive.ErrNotFound
	}
	rest, query, _ := strings.Cut(rest, "?")
	id, part, isPart := strings.Cut(rest, "/part/")
	if isPart {
		return u.blob(ctx, id, part)
	}
	args := map[string]string{"uuid": id}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, archive.ErrNotFound
	}
	for _, name := range strings.Split(selectors, ",") {
		if v := values.Get(name); v != "" {
			args[name] = v
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	id, sel, err := archive.ParsePart(raw)
	if err != nil {
		return nil, err
	}
	page, err := u.s.cfg.Host.Archive().Read(ctx, u.scope(), id, sel)
	if err != nil {
		return nil, u.gone(ctx, uri, page.Entry, err)
	}
	return &mcp.ResourceContents{MIMEType: textType, Text: page.Text}, nil
}

// scope is everything that the principal has archived, in any conversation.
func (u *user) scope() archive.Scope {
	return archive.Scope{Principal: u.principal, Conversation: u.conversation, Everywhere: true}
}

func (u *user) blob(ctx context.Context, id, n string) (*mcp.ResourceContents, error) {
	e, err := u.s.cfg.Host.Archive().Get(ctx, u.scope(), id)
	if err != nil {
		return nil, u.gone(ctx, partURI(id, 0), e, err)
	}
	i, err := strconv.Atoi(n)
	if err != nil || i < 0 || i >= len(e.Parts) {
		return nil, archive.ErrNotFound
	}
	return &mcp.ResourceContents{MIMEType: e.Parts[i].MIME, Blob: e.Parts[i].Data}, nil
}

// gone says why an archived result cannot be read.
func (u *user) gone(ctx context.Context, uri string, e archive.Entry, err error) error {
	var bad *tool.Error
	switch {
	case errors.Is(err, archive.ErrExpired):
		return u.missing(uri, fmt.Sprintf(textsIn(u.locale()).expired, e.Tool))
	case errors.Is(err, archive.ErrNotFound), errors.As(err, &bad):
		return err
	}
	return u.unreadable(ctx, err)
}

// unreadable keeps what is wrong inside from the client; the log has it.
func (u *user) unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	u.s.log.Error("the archive cannot be read", "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: textsIn(u.locale()).unreadable}
}
