package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A chatCommand is what can be typed in a chat beside questions.
type chatCommand struct {
	name, args string // as /help writes them
	en, zh     string
	// run does it. A question that it returns is asked.
	run func(t *talk, ctx context.Context, args []string) (question string, err error)
}

// chatCommands lists them as /help does.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"/help", "", "this list", "显示本列表", (*talk).help},
		{"/new", "", "begin a new conversation", "开始新会话", (*talk).begin},
		{"/list", "", "list the conversations", "列出会话", (*talk).list},
		{"/open", "ID", "go on with a conversation; the beginning of its id is enough", "继续某个会话，编号开头几位即可", (*talk).reopen},
		{"/rename", "TITLE", "give this conversation another title", "给本会话改标题", (*talk).rename},
		{"/model", "[NAME]", "answer with another model, or list them", "换一个模型；不带参数则列出", (*talk).useModel},
		{"/profile", "[NAME]", "answer with another profile, or list them", "换一个配置档；不带参数则列出", (*talk).useProfile},
		{"/tools", "", "list the tools with their limits", "列出工具及其上限", (*talk).tools},
		{"/show", "ID [PART]", "show an archived result; the end of its id is enough. PART: lines=a-b, grep=expression, head=n, …", "查看存档的结果，编号末几位即可。PART: lines=a-b、grep=表达式、head=n 等", (*talk).see},
		{"/load", "ID [PART]", "show it and bring it into the next question", "查看并带入下一个问题", (*talk).load},
		{"/trace", "", "how the last question was answered: requests, times, tokens, calls", "上一个问题的经过：请求、用时、词元、调用", (*talk).lastTurn},
		{"/explain", "", "what was sent for it, what was cut, what that saved", "上一个问题发送了什么、截断了什么、节省了多少", (*talk).explain},
		{"/think", "", "show what the model thought, and from now on as it comes; again: not any more", "显示模型的思考，此后实时显示；再次输入则关闭", (*talk).switchThink},
		{"/cost", "", "tokens and cost of this conversation", "本会话的词元与费用", (*talk).cost},
		{"/export", "FILE", "write this conversation to a file: .md, .json or .jsonl", "导出本会话: .md、.json 或 .jsonl", (*talk).export},
		{"/retry", "", "ask the last question again", "重新提问上一个问题", (*talk).retry},
		{"/quit", "", "end (or Ctrl-D)", "退出（或 Ctrl-D）", nil}, // which the loop does
	}
}

// command runs a /command of the chat.
func (t *talk) command(ctx context.Context, line string) (question string, err error) {
	words := strings.Fields(line)
	for _, cmd := range chatCommands() {
		if cmd.name == words[0] && cmd.run != nil {
			return cmd.run(t, ctx, words[1:])
		}
	}
	return "", usagef(t.say("/help lists them", "用 /help 查看命令"), t.say("there is no command %s", "没有命令 %s"), limit.Visible(words[0]))
}

func (t *talk) help(context.Context, []string) (string, error) {
	var rows [][]string
	for _, cmd := range chatCommands() {
		rows = append(rows, []string{cmd.name + " " + cmd.args, t.say(cmd.en, cmd.zh)})
	}
	t.columns(rows)
	t.told(`Several lines: end a line with \, or write """ before and after, or press Alt-Enter. Ctrl-C stops an answer.`,
		`多行输入: 行尾加 \，或前后写 """，或按 Alt-Enter。Ctrl-C 停止回答。`)
	return "", nil
}

func (t *talk) begin(context.Context, []string) (string, error) {
	t.ask.Conversation, t.ask.LoadUUIDs = "", nil
	t.told("a new conversation begins", "新会话开始")
	return "", nil
}

func (t *talk) conversations(ctx context.Context) ([]daemon.ConversationRow, error) {
	var out daemon.ConversationList
	err := t.cl.Get(ctx, "/api/conversations?limit=1000", &out)
	return out.Conversations, err
}

func (t *talk) list(ctx context.Context, _ []string) (string, error) {
	all, err := t.conversations(ctx)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		t.told("there are no conversations yet", "还没有会话")
		return "", nil
	}
	rows := [][]string{strings.Split(t.say("ID|USED|MESSAGES|TITLE", "编号|时间|消息|标题"), "|")}
	n := telling(all)
	for _, x := range all[:min(len(all), 20)] {
		id := limit.Visible(x.ID)
		if len(id) == idLength {
			id = id[:n]
		}
		if x.ID == t.ask.Conversation {
			id = "* " + id
		}
		rows = append(rows, []string{id, x.Updated.Local().Format("01-02 15:04"), fmt.Sprint(x.Messages), term.Visible(x.Title, 80)})
	}
	fmt.Fprint(t.Out, term.Grid(rows, t.TableWidth()))
	if n := len(all) - 20; n > 0 {
		t.told(fmt.Sprintf("and %d older ones: weir conversation list", n), fmt.Sprintf("另有 %d 个更早的会话: weir conversation list", n))
	}
	return "", nil
}

// idLength is how long the ids are that weir gives, in characters.
const idLength = 36

// telling is how many characters of the ids that weir gave tell them apart, eight at
// the least. They begin with the time, and those of one minute look alike.
func telling(all []daemon.ConversationRow) int {
	for n := 8; n < idLength; n++ {
		seen := map[string]bool{}
		for _, x := range all {
			if len(x.ID) == idLength {
				seen[x.ID[:n]] = true
			} else {
				seen[x.ID] = true
			}
		}
		if len(seen) == len(all) {
			return n
		}
	}
	return idLength
}

// recent is how many messages /open shows again.
const recent = 4

func (t *talk) reopen(ctx context.Context, args []string) (string, error) {
	if len(args) != 1 {
		return "", t.wrong("/list", "/open needs the id of a conversation", "/open 需要会话编号")
	}
	all, err := t.conversations(ctx)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(all))
	for i, x := range all {
		ids[i] = x.ID
	}
	id, err := t.one(args[0], ids, strings.HasPrefix)
	if err != nil {
		return "", err
	}
	var shownTalk daemon.ShownConversation
	if err := t.cl.Get(ctx, "/api/conversations/"+url.PathEscape(id), &shownTalk); err != nil {
		return "", err
	}
	t.ask.Conversation, t.ask.LoadUUIDs = id, nil
	var said []daemon.ShownMessage
	for _, m := range shownTalk.Messages {
		if (m.Role == agent.RoleUser || m.Role == agent.RoleAssistant) && m.Text != "" {
			said = append(said, m)
		}
	}
	for _, m := range said[max(0, len(said)-recent):] {
		who := t.say("you: ", "你: ")
		if m.Role == agent.RoleAssistant {
			who = ""
		}
		fmt.Fprintln(t.Out, who+term.Calm(m.Text))
	}
	t.told("this conversation goes on: "+id, "继续会话: "+id)
	return "", nil
}

// one finds the id that part is a part of.
func (t *talk) one(part string, ids []string, is func(id, part string) bool) (string, error) {
	var found []string
	for _, id := range ids {
		if id == part {
			return id, nil
		}
		if is(id, part) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", usagef(t.say("give more of it, or look at the list", "请检查编号"), t.say("nothing has the id %s", "没有编号为 %s 的内容"), limit.Visible(part))
	case 1:
		return found[0], nil
	}
	return "", usagef(strings.Join(found[:min(len(found), 5)], " "), t.say("%s may be %d of them; give more of the id", "%s 对应 %d 个，请多写几位"), limit.Visible(part), len(found))
}

func (t *talk) rename(ctx context.Context, args []string) (string, error) {
	title := strings.Join(args, " ")
	switch {
	case title == "":
		return "", t.wrong("/rename TITLE", "/rename needs a title", "/rename 需要标题")
	case t.ask.Conversation == "":
		return "", t.wrong(t.say("ask something first", "请先提问"), "there is no conversation yet", "还没有会话")
	}
	if err := t.cl.Do(ctx, http.MethodPatch, "/api/conversations/"+url.PathEscape(t.ask.Conversation), map[string]string{"title": title}, nil); err != nil {
		return "", err
	}
	t.told("it is called: "+title, "标题改为: "+title)
	return "", nil
}

func (t *talk) models(ctx context.Context) ([]string, error) {
	var out daemon.ConfiguredModels
	if err := t.cl.Get(ctx, "/api/models", &out); err != nil {
		return nil, err
	}
	names := make([]string, len(out.Models))
	for i, m := range out.Models {
		names[i] = m.Name
	}
	return names, nil
}

func (t *talk) useModel(ctx context.Context, args []string) (string, error) {
	names, err := t.models(ctx)
	return "", t.choose(err, args, names, &t.ask.Model, "model", "模型")
}

// profiles are those of the configuration in force.
func (t *talk) profiles(ctx context.Context) ([]string, error) {
	var out struct {
		Settings struct {
			Agents map[string]json.RawMessage `json:"agents"`
		} `json:"settings"`
	}
	err := t.cl.Get(ctx, "/api/settings", &out)
	return append([]string{"default"}, slices.Sorted(maps.Keys(out.Settings.Agents))...), err
}

func (t *talk) useProfile(ctx context.Context, args []string) (string, error) {
	names, err := t.profiles(ctx)
	return "", t.choose(err, args, names, &t.ask.Profile, "profile", "配置档")
}

// choose sets one of names, or lists them.
func (t *talk) choose(err error, args, names []string, into *string, en, zh string) error {
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		for _, name := range names {
			mark := "  "
			if name == *into {
				mark = "* "
			}
			fmt.Fprintln(t.Out, mark+limit.Visible(name))
		}
		return nil
	case !slices.Contains(names, args[0]):
		return usagef(strings.Join(names, " "), t.say("there is no %[1]s named %[3]q", "没有名为 %[3]q 的%[2]s"), en, zh, args[0])
	}
	*into = args[0]
	t.told("the next answer is by "+en+" "+args[0], "下一个回答使用"+zh+" "+args[0])
	return nil
}

func (t *talk) tools(ctx context.Context, _ []string) (string, error) {
	var out struct{ Tools []plugin.ToolInfo }
	if err := t.cl.Get(ctx, "/api/tools", &out); err != nil {
		return "", err
	}
	var rows [][]string
	for _, x := range out.Tools {
		limits := t.say("no bound", "无上限")
		if l := x.Effective; l.MaxChars > 0 || l.MaxLines > 0 {
			limits = t.bounds(l)
		}
		rows = append(rows, []string{limit.Visible(x.Spec.Name), limits + t.say(". ", "。") + term.Visible(x.Spec.Describe(t.language()), 200)})
	}
	t.columns(rows)
	return "", nil
}

// bounds are a result's limits.
func (t *talk) bounds(l tool.Limits) string {
	var parts []string
	if l.MaxChars > 0 {
		parts = append(parts, t.say(term.Grouped(l.MaxChars)+" characters", term.Grouped(l.MaxChars)+" 字符"))
	}
	if l.MaxLines > 0 {
		parts = append(parts, t.say(term.Grouped(l.MaxLines)+" lines", term.Grouped(l.MaxLines)+" 行"))
	}
	return strings.Join(parts, t.say(", ", "，"))
}

// columns writes names with what is said of them.
func (t *talk) columns(rows [][]string) {
	width := 1 << 20
	if term.IsTerminal(t.Err) {
		width = t.Width()
	}
	fmt.Fprint(t.Err, term.Definitions(rows, width))
}

// result finds an archived result by the end or the beginning of its id: among
// those of this talk, else those of its conversation, else all.
func (t *talk) result(ctx context.Context, part string) (string, error) {
	is := func(id, part string) bool { return strings.HasSuffix(id, part) || strings.HasPrefix(id, part) }
	if len(part) >= 36 {
		return part, nil
	}
	for _, id := range slices.Backward(t.kept) {
		if is(id, part) {
			return t.one(part, t.kept, is)
		}
	}
	for _, conversation := range []string{t.ask.Conversation, ""} {
		var out daemon.ArchiveList
		if err := t.cl.Get(ctx, "/api/archives?limit=1000&conversation_id="+url.QueryEscape(conversation), &out); err != nil {
			return "", err
		}
		var ids []string
		for _, a := range out.Archives {
			if is(a.UUID, part) {
				ids = append(ids, a.UUID)
			}
		}
		if len(ids) > 0 {
			return t.one(part, ids, is)
		}
	}
	return part, nil // the daemon says that there is none
}

func (t *talk) see(ctx context.Context, args []string) (string, error) {
	if len(args) == 0 {
		return "", t.wrong("/show ID lines=10-40", "/show needs the id of an archived result", "/show 需要存档结果的编号")
	}
	id, err := t.result(ctx, args[0])
	if err == nil {
		_, err = t.showArchive(ctx, t.cl, id, args[1:], "")
	}
	return "", err
}

func (t *talk) load(ctx context.Context, args []string) (string, error) {
	if len(args) == 0 {
		return "", t.wrong("/load UUID lines=10-40", "/load needs the uuid of an archived result", "/load 需要存档结果的编号")
	}
	id, err := t.result(ctx, args[0])
	if err == nil {
		err = t.bring(ctx, id, args[1:])
	}
	return "", err
}

// trace is how the last question of this conversation was answered.
func (t *talk) trace(ctx context.Context) (*daemon.Trace, error) {
	if t.ask.Conversation != "" {
		if tr := t.lastTrace(ctx, t.cl, t.ask.Conversation); tr != nil {
			return tr, nil
		}
	}
	return nil, t.wrong(t.say("ask something first", "请先提问"), "no question was asked in this conversation", "本会话还没有提问")
}

func (t *talk) lastTurn(ctx context.Context, _ []string) (string, error) {
	tr, err := t.trace(ctx)
	if err == nil {
		fmt.Fprint(t.Out, t.Wrap(t.Out, t.traced(*tr)))
	}
	return "", err
}

func (t *talk) explain(ctx context.Context, _ []string) (string, error) {
	tr, err := t.trace(ctx)
	if err == nil {
		fmt.Fprint(t.Out, t.Wrap(t.Out, t.explained(*tr)))
	}
	return "", err
}

func (t *talk) switchThink(context.Context, []string) (string, error) {
	if t.think = !t.think; !t.think {
		t.told("thoughts are folded into one line", "思考折叠为一行")
		return "", nil
	}
	if t.thoughts != "" {
		fmt.Fprintln(t.Err, t.Faint(strings.TrimRight(term.Calm(t.thoughts), "\n")))
	}
	t.told("thoughts are shown as they come", "实时显示思考")
	return "", nil
}

func (t *talk) cost(ctx context.Context, _ []string) (string, error) {
	if t.ask.Conversation == "" {
		t.told("nothing was asked yet", "还没有提问")
		return "", nil
	}
	var out daemon.TraceList
	if err := t.cl.Get(ctx, "/api/traces?limit=1000&conversation_id="+url.QueryEscape(t.ask.Conversation), &out); err != nil {
		return "", err
	}
	var sum agent.Usage
	costs, saved := map[string]float64{}, 0
	for _, tr := range out.Traces {
		sum = sum.Add(tr.Usage)
		saved += tr.ProducedChars - tr.ShownChars
		if tr.Cost != nil {
			costs[tr.Cost.Currency] += tr.Cost.Amount
		}
	}
	many := "s"
	if len(out.Traces) == 1 {
		many = ""
	}
	n := fmt.Sprint(len(out.Traces))
	line := t.say(n+" question"+many+": ", n+" 个问题: ") + t.usageLine(sum, nil)
	for _, currency := range slices.Sorted(maps.Keys(costs)) {
		line += t.say("; ", "；") + term.Money(costs[currency]) + " " + limit.Visible(currency)
	}
	fmt.Fprintln(t.Out, line)
	if saved > 0 {
		fmt.Fprintln(t.Out, t.say("the limits kept "+term.Grouped(saved)+" characters of results out", "上限省去了 "+term.Grouped(saved)+" 字符的结果"))
	}
	return "", nil
}

func (t *talk) export(ctx context.Context, args []string) (string, error) {
	formats := map[string]string{".md": "markdown", ".json": "json", ".jsonl": "jsonl"}
	switch {
	case len(args) != 1:
		return "", t.wrong("/export talk.md", "/export needs the name of a file", "/export 需要文件名")
	case t.ask.Conversation == "":
		return "", t.wrong(t.say("ask something first", "请先提问"), "there is no conversation yet", "还没有会话")
	}
	format, ok := formats[filepath.Ext(args[0])]
	if !ok {
		return "", usagef(t.say("end its name in .md, .json or .jsonl", "文件名以 .md、.json 或 .jsonl 结尾"), t.say("%s says no form", "%s 没有说明格式"), limit.Visible(args[0]))
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", usagef(t.say("choose another name", "换一个文件名"), t.say("%s cannot be written, or is there already", "%s 无法写入或已存在"), limit.Visible(args[0]))
	}
	resp, err := t.cl.Send(ctx, http.MethodGet, "/api/conversations/"+url.PathEscape(t.ask.Conversation)+"/export?format="+format, nil)
	if err == nil {
		_, err = io.Copy(f, resp.Body)
		_ = resp.Body.Close() // read to its end, or failed
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(args[0]) // a half export is none
		return "", err
	}
	t.told("written to "+args[0], "已写入 "+args[0])
	return "", nil
}

func (t *talk) retry(context.Context, []string) (string, error) {
	if t.question == "" {
		return "", t.wrong(t.say("ask something first", "请先提问"), "there is no question to repeat", "没有可重复的问题")
	}
	return t.question, nil
}

// wrong is a mistake of whoever typed.
func (t *talk) wrong(hint, en, zh string) error { return usagef(hint, "%s", t.say(en, zh)) }
