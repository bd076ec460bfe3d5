-- +goose Up
-- The digest of the token of the client that began the session; empty: it had none, or the
-- session is older than this column. A file has sessions now, too: they outlive a restart.
ALTER TABLE mcp_sessions ADD COLUMN token TEXT NOT NULL DEFAULT '';
CREATE INDEX mcp_sessions_principal ON mcp_sessions (principal, created_at);

-- +goose Down
SELECT 1;
