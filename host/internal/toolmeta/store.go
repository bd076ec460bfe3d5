package toolmeta

import (
	"context"
	"embed"
	"encoding/json"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of what models said about tools.
func Schema() sqlite.Schema { return sqlite.Embedded("tools", migrations) }

// An answer is what a model said about a tool.
type answer struct {
	tool, model string
	asked       time.Time
	questions   []string // nil: it failed
}

// maxAnswers bounds the answers that are kept: the latest ones.
const maxAnswers = 10000

// load reads the answers, by the digest of the tool's text.
func load(ctx context.Context, db *sqlite.DB) (map[string]answer, error) {
	rows, err := db.QueryContext(ctx, "SELECT digest, tool, model, asked_at, coalesce(questions, 'null') FROM tool_questions ORDER BY asked_at DESC LIMIT ?", maxAnswers)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]answer{}
	for rows.Next() {
		var digest, questions string
		var a answer
		var asked int64
		if err := rows.Scan(&digest, &a.tool, &a.model, &asked, &questions); err != nil {
			return nil, err
		}
		a.asked = time.UnixMilli(asked)
		if json.Unmarshal([]byte(questions), &a.questions) == nil {
			out[digest] = a
		}
	}
	return out, rows.Err()
}

// save stores an answer in place of those to other texts of the same tool.
func save(ctx context.Context, db *sqlite.DB, digest string, a answer) error {
	var questions any
	if a.questions != nil {
		raw, err := json.Marshal(a.questions)
		if err != nil {
			return err
		}
		questions = string(raw)
	}
	if err := drop(ctx, db, digest, a.tool); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "INSERT INTO tool_questions (digest, tool, model, asked_at, questions) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (digest) DO UPDATE SET tool = excluded.tool, model = excluded.model, asked_at = excluded.asked_at, questions = excluded.questions",
		digest, a.tool, a.model, a.asked.UnixMilli(), questions)
	return err
}

// drop removes what is known about texts of a tool other than the one with this digest,
// and the oldest where there is too much.
func drop(ctx context.Context, db *sqlite.DB, digest, tool string) error {
	if _, err := db.ExecContext(ctx, `DELETE FROM tool_questions WHERE tool = ? AND digest <> ?
		OR asked_at < (SELECT asked_at FROM tool_questions ORDER BY asked_at DESC LIMIT 1 OFFSET ?)`, tool, digest, maxAnswers); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `DELETE FROM tool_vectors WHERE tool = ? AND digest <> ?
		OR made_at < (SELECT made_at FROM tool_vectors ORDER BY made_at DESC LIMIT 1 OFFSET ?)`, tool, digest, maxAnswers)
	return err
}

// A stored is the vector of a tool's text.
type stored struct {
	tool, model string
	values      []byte // see package vector
}

// loadVectors reads the vectors, by the digest of the tool's text.
func loadVectors(ctx context.Context, db *sqlite.DB) (map[string]stored, error) {
	out := map[string]stored{}
	rows, err := db.QueryContext(ctx, "SELECT digest, tool, model, vector FROM tool_vectors ORDER BY made_at DESC LIMIT ?", maxAnswers)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var digest string
		var v stored
		if err := rows.Scan(&digest, &v.tool, &v.model, &v.values); err != nil {
			return nil, err
		}
		out[digest] = v
	}
	return out, rows.Err()
}

// saveVector stores a vector in place of those of other texts of the same tool.
func saveVector(ctx context.Context, db *sqlite.DB, digest string, v stored, now time.Time) error {
	if err := drop(ctx, db, digest, v.tool); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "INSERT INTO tool_vectors (digest, tool, model, made_at, vector) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (digest) DO UPDATE SET tool = excluded.tool, model = excluded.model, made_at = excluded.made_at, vector = excluded.vector",
		digest, v.tool, v.model, now.UnixMilli(), v.values)
	return err
}
