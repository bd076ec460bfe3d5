-- +goose Up
-- Sessions of MCP clients over HTTP, where several daemons share the tables: the message
-- with which the client introduced itself, by which any daemon goes on with it.
CREATE TABLE mcp_sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    principal  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    hello      BLOB    NOT NULL
);

-- +goose Down
DROP TABLE mcp_sessions;
