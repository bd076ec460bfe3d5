-- +goose Up
-- Messages of MCP clients that came to another daemon than the one they are for, where
-- several share the tables. An empty target is all others than the sender.
CREATE TABLE mcp_mail (
    seq        INTEGER PRIMARY KEY,
    sender     TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    body       BLOB    NOT NULL
);

-- +goose Down
DROP TABLE mcp_mail;
