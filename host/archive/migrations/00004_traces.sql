-- +goose Up
-- How each turn went, for whoever looks into it; written and read by the daemon.
-- They go with the conversation, and the oldest by themselves.
CREATE TABLE traces (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn            INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    body            TEXT    NOT NULL
);
CREATE INDEX traces_conversation ON traces (conversation_id, id);

-- +goose Down
DROP TABLE traces;
