package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// A Passed is one request of a client with a loop of its own, and what it came to.
type Passed struct {
	Principal string
	// ID is that of the conversation if the request begins one.
	ID    string
	Title string
	// Client is the program's name, Label what it calls the conversation; empty: unknown.
	Client, Label string
	Model         string // by the operator's name
	// Setting is a digest of System and Tools; nil: the request has none.
	Setting       string
	System, Tools *PassedText
	// Messages are all of the request, in order, and Answer follows them; nil: there is none.
	Messages []PassedMessage
	Answer   *PassedMessage
	// Text returns a message of Messages. It is called for those alone that are not stored yet.
	Text func(i int) PassedText
	// AnswerText is that of Answer.
	AnswerText PassedText
	// Usage is the tokens and the cost of the request; nil: they are not counted.
	Usage *TurnUsage
	// Trace returns the report of the request, in a conversation; nil: there is none.
	Trace func(conversation string) *Trace
}

// A PassedMessage is one message of a Passed.
type PassedMessage struct {
	Digest string
	// Chain is a digest of this message and all before it.
	Chain string
	Role  string // as of Message
	Turn  int
	Model string // that answered
	// Body is what belongs to this message in this conversation alone, as a part of the neutral
	// form; nil: there is nothing.
	Body json.RawMessage
}

// A PassedText is what a message says. Body is the neutral form without Content and Thinking.
type PassedText struct {
	Digest, Content, Thinking string
	Body                      json.RawMessage
}

// A Branch is what the store has of the conversation that a request continues.
type Branch struct {
	ID string
	// Sent is how many messages the last request of the branch had, with which this one begins.
	Sent int
	// Hidden says that no list has it.
	Hidden bool
	side   bool
}

// Roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

type passedStatements struct {
	find, kin                                *sqlite.Statement
	insertBranch, setBranch, setConversation *sqlite.Statement
	after, cut, drop                         *sqlite.Statement // of messages
	have, addText                            *sqlite.Statement
	insertMessages                           sqlite.Inserts
	addNote, notes                           *sqlite.Statement
	readFind                                 *sql.Stmt
}

// findSQL selects the branch that a request continues: of those under the same setting whose
// messages it begins with, the longest.
func (s *Store) findSQL() string {
	return `SELECT b.conversation_id, b.sent, c.hidden, b.side FROM passed_branches b JOIN conversations c ON c.id = b.conversation_id
		WHERE b.principal = ? AND b.model = ? AND b.setting = ? AND b.tail IN ` + s.listed() + ` ORDER BY b.sent DESC, c.updated_at DESC LIMIT 1`
}

// listed returns the SQL of a list that a parameter has as JSON; see listOf.
func (s *Store) listed() string {
	if s.Shared() {
		return `(SELECT json_array_elements_text(CAST(? AS json)) COLLATE "C")`
	}
	return "(SELECT value FROM json_each(?))"
}

func listOf(list []string) string {
	text, _ := json.Marshal(list) // strings always marshal
	return string(text)
}

func (s *Store) preparePassed(ctx context.Context) (err error) {
	p := &s.passed
	err = s.db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&p.find: s.findSQL(),
		&p.kin: `SELECT CASE WHEN EXISTS (SELECT 1 FROM passed_branches WHERE principal = ?1 AND root = ?2 AND setting = ?3 AND side = 0) THEN 0
			WHEN EXISTS (SELECT 1 FROM passed_branches WHERE principal = ?1 AND root = ?2 AND side = 0) THEN 1 ELSE 0 END`,
		&p.insertBranch: `INSERT INTO passed_branches (conversation_id, principal, client, label, model, setting, system, tools, root, tail, sent, side)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&p.setBranch:       "UPDATE passed_branches SET root = ?, tail = ?, sent = ?, side = ? WHERE conversation_id = ?",
		&p.setConversation: "UPDATE conversations SET updated_at = ?, hidden = ? WHERE id = ?",
		&p.after:           "SELECT digest FROM messages WHERE conversation_id = ? AND seq > ? ORDER BY seq",
		&p.cut:             "DELETE FROM messages WHERE conversation_id = ? AND seq > ?",
		&p.drop: `DELETE FROM passed_texts WHERE principal = ?1 AND digest = ?2 AND NOT EXISTS (SELECT 1 FROM messages m JOIN conversations c
			ON c.id = m.conversation_id WHERE m.digest = ?2 AND c.principal = ?1)`,
		&p.have:    "SELECT digest FROM passed_texts WHERE principal = ? AND digest IN " + s.listed(),
		&p.addText: "INSERT INTO passed_texts (principal, digest, content, thinking, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (principal, digest) DO NOTHING",
		&p.addNote: "INSERT INTO passed_notes (principal, kind, digest, conversation_id, body, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (principal, kind, digest) DO NOTHING",
		&p.notes:   "SELECT digest, body FROM passed_notes WHERE principal = ? AND kind = ? AND digest IN " + s.listed(),
	})
	if err == nil {
		p.insertMessages, err = s.db.PrepareInserts(ctx, "messages (conversation_id, seq, turn, role, model, created_at, content, body, digest)", 9)
	}
	if err == nil {
		p.readFind, err = s.db.PrepareRead(ctx, s.findSQL())
	}
	return err
}

// BranchOf returns the branch that a request continues: the one whose messages it begins with,
// of the same model, system prompt and tools; of several the longest. chain are the digests
// PassedMessage.Chain of its messages. False: there is none, and the request begins one.
func (s *Store) BranchOf(ctx context.Context, principal, model, setting string, chain []string) (Branch, bool, error) {
	b, err := scanBranch(s.passed.readFind.QueryRowContext(ctx, principal, model, setting, listOf(chain)))
	if errors.Is(err, sql.ErrNoRows) {
		return Branch{}, false, nil
	}
	return b, err == nil, wrap(ctx, "finding a conversation", err)
}

func scanBranch(row sqlite.Row) (b Branch, err error) {
	var hidden, side int
	err = row.Scan(&b.ID, &b.Sent, &hidden, &side)
	b.Hidden, b.side = hidden != 0, side != 0
	return b, err
}

// KeepPassed stores a request and its answer in the branch that it continues, or as a new one,
// and returns the branch. All of it or none is synced to disk when it returns. Only messages that
// the principal has not yet are written. No list has a branch, until a request continues it with
// an answer in it; one that began with messages of another branch, under another system prompt
// or other tools, until a request continues it with words of a person that are new.
func (s *Store) KeepPassed(ctx context.Context, p Passed) (Branch, error) {
	if p.Principal == "" || p.ID == "" {
		return Branch{}, msg.Errorf("storing a request: it needs a principal and a conversation")
	}
	now := s.now()
	var out Branch
	err := s.db.Commit(ctx, p.bytes(), func(b *sqlite.Batch) (err error) {
		out, err = s.keep(b, p, now)
		return err
	})
	return out, wrap(ctx, "storing a request", err)
}

func (p Passed) bytes() int {
	n := len(p.AnswerText.Content) + 200*len(p.Messages)
	return n
}

func (s *Store) keep(b *sqlite.Batch, p Passed, now time.Time) (Branch, error) {
	branch, found, err := s.find(b, p)
	if err != nil {
		return branch, err
	}
	had, fresh := branch.Sent, []string(nil)
	rows := p.Messages
	if p.Answer != nil {
		rows = append(rows[:len(rows):len(rows)], *p.Answer)
	}
	kept := had
	var gone []string // digests
	if found {
		if kept, gone, err = s.matches(b, branch, p.Messages); err != nil {
			return branch, err
		}
	} else if branch, err = s.beginBranch(b, p, now); err != nil {
		return branch, err
	}
	if fresh, err = s.addTexts(b, p, kept); err != nil {
		return branch, err
	}
	args := make([]any, 0, 9*(len(rows)-kept))
	for i, m := range rows[kept:] {
		args = append(args, branch.ID, kept+i+1, m.Turn, m.Role, m.Model, now.UnixMilli(), "", string(m.Body), m.Digest)
	}
	if err := b.Insert(s.passed.insertMessages, args...); err != nil {
		return branch, err
	}
	for _, d := range gone {
		if err := b.Run(s.passed.drop, p.Principal, d); err != nil {
			return branch, err
		}
	}
	if found {
		branch.listed(p.Messages[min(had, len(p.Messages)):], fresh)
	}
	if err := s.setBranch(b, p, branch, now); err != nil {
		return branch, err
	}
	return branch, s.report(b, p, branch, now)
}

func (s *Store) find(b *sqlite.Batch, p Passed) (branch Branch, found bool, err error) {
	chain := make([]string, len(p.Messages))
	for i, m := range p.Messages {
		chain[i] = m.Chain
	}
	rows, err := b.Query(s.passed.find, p.Principal, p.Model, p.Setting, listOf(chain))
	if err != nil {
		return branch, false, err
	}
	defer rows.Close()
	for rows.Next() {
		if branch, err = scanBranch(rows); err != nil {
			return branch, false, err
		}
		found = true
	}
	return branch, found, rows.Err()
}

// matches returns how many of the branch's messages stay, and the digests of those that do not:
// the last answer stays if the client sends it back.
func (s *Store) matches(b *sqlite.Batch, branch Branch, sent []PassedMessage) (kept int, gone []string, err error) {
	have, err := texts(b.Query(s.passed.after, branch.ID, branch.Sent))
	if err != nil {
		return 0, nil, err
	}
	kept = branch.Sent
	for len(have) > 0 && kept < len(sent) && sent[kept].Digest == have[0] {
		kept, have = kept+1, have[1:]
	}
	if len(have) > 0 {
		err = b.Run(s.passed.cut, branch.ID, kept)
	}
	return kept, have, err
}

func texts(rows *sql.Rows, err error) (out []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// beginBranch adds a branch that no list has.
func (s *Store) beginBranch(b *sqlite.Batch, p Passed, now time.Time) (Branch, error) {
	branch := Branch{ID: p.ID, Hidden: true}
	if root := p.root(false); root != "" {
		side, err := b.Int(s.passed.kin, p.Principal, root, p.Setting)
		if err != nil {
			return branch, err
		}
		branch.side = side != 0
	}
	c := Conversation{ID: p.ID, Principal: p.Principal, Title: p.Title}
	created, err := s.ensure(b, c, now)
	if err == nil && !created { // the branch of that id has gone on otherwise meanwhile
		var id uuid.UUID
		if id, err = uuid.NewV7(); err == nil {
			c.ID = id.String()
			branch.ID = c.ID
			_, err = s.ensure(b, c, now)
		}
	}
	if err != nil {
		return branch, err
	}
	digests := [2]string{}
	for i, text := range []*PassedText{p.System, p.Tools} {
		if text == nil {
			continue
		}
		digests[i] = text.Digest
		if err := s.addText(b, p.Principal, *text); err != nil {
			return branch, err
		}
	}
	return branch, b.Run(s.passed.insertBranch, branch.ID, p.Principal, p.Client, p.Label, p.Model, p.Setting, digests[0], digests[1], "", "", 0, side(branch))
}

func side(b Branch) int {
	if b.side {
		return 1
	}
	return 0
}

// root returns the digest of the messages up to the first answer.
func (p Passed) root(withAnswer bool) string {
	if i := slices.IndexFunc(p.Messages, func(m PassedMessage) bool { return m.Role == roleAssistant }); i >= 0 {
		return p.Messages[i].Chain
	}
	if withAnswer && p.Answer != nil {
		return p.Answer.Chain
	}
	return ""
}

// addTexts stores the texts of the messages from number from on that the principal does not
// have, and returns their digests.
func (s *Store) addTexts(b *sqlite.Batch, p Passed, from int) (added []string, err error) {
	var digests []string
	for i := from; i < len(p.Messages); i++ {
		digests = append(digests, p.Messages[i].Digest)
	}
	have := map[string]bool{}
	if len(digests) > 0 {
		known, err := texts(b.Query(s.passed.have, p.Principal, listOf(digests)))
		if err != nil {
			return nil, err
		}
		for _, d := range known {
			have[d] = true
		}
	}
	for i, d := range digests {
		if have[d] {
			continue
		}
		have[d] = true
		text := p.Text(from + i)
		text.Digest = d
		if err := s.addText(b, p.Principal, text); err != nil {
			return nil, err
		}
		added = append(added, d)
	}
	if p.Answer != nil && !have[p.Answer.Digest] {
		p.AnswerText.Digest = p.Answer.Digest
		err = s.addText(b, p.Principal, p.AnswerText)
	}
	return added, err
}

func (s *Store) addText(b *sqlite.Batch, principal string, t PassedText) error {
	return b.Run(s.passed.addText, principal, t.Digest, t.Content, t.Thinking, string(t.Body))
}

// listed decides whether lists have a branch that a request continues with messages, of which
// those with the digests fresh are new to the principal.
func (b *Branch) listed(added []PassedMessage, fresh []string) {
	goesOn := func(m PassedMessage) bool {
		if b.side {
			return m.Role == roleUser && slices.Contains(fresh, m.Digest)
		}
		return m.Role == roleAssistant
	}
	if b.Hidden && slices.ContainsFunc(added, goesOn) {
		b.Hidden, b.side = false, false
	}
}

func (s *Store) setBranch(b *sqlite.Batch, p Passed, branch Branch, now time.Time) error {
	tail := ""
	if n := len(p.Messages); n > 0 {
		tail = p.Messages[n-1].Chain
	}
	if err := b.Run(s.passed.setBranch, p.root(true), tail, len(p.Messages), side(branch), branch.ID); err != nil {
		return err
	}
	hidden := 0
	if branch.Hidden {
		hidden = 1
	}
	return b.Run(s.passed.setConversation, now.UnixMilli(), hidden, branch.ID)
}

// report stores the trace and the usage.
func (s *Store) report(b *sqlite.Batch, p Passed, branch Branch, now time.Time) error {
	sc := archive.Scope{Principal: p.Principal, Conversation: branch.ID}
	if p.Trace != nil {
		if t := p.Trace(branch.ID); t != nil {
			if err := s.trace(b, sc, *t, now); err != nil {
				return err
			}
		}
	}
	return s.turnUsage(b, sc, p.Usage, now)
}

// passedBody returns the neutral form of a message whose text is in passed_texts: its body, and
// what belongs to this place alone.
func passedBody(m Message, own []byte) json.RawMessage {
	type object = map[string]json.RawMessage
	neutral := object{}
	for _, part := range [][]byte{m.Body, own} {
		if len(part) > 0 {
			_ = json.Unmarshal(part, &neutral) // weir wrote it
		}
	}
	set := func(o object, name string, value any) {
		text, _ := json.Marshal(value) // strings, numbers and times always marshal
		o[name] = text
	}
	set(neutral, "role", m.Role)
	set(neutral, "turn", m.Turn)
	set(neutral, "at", m.Created)
	set(neutral, "model", m.Model)
	set(neutral, "reasoning", m.Thinking)
	var results []object
	if json.Unmarshal(neutral["results"], &results) == nil && len(results) > 0 {
		set(results[0], "text", m.Content)
		set(neutral, "results", results)
	} else {
		set(neutral, "text", m.Content)
	}
	out, _ := json.Marshal(neutral) // what was unmarshalled marshals
	return out
}
