-- +goose Up
-- What was streamed of a reply since the last of turn_steps, a second behind at most: what
-- run_pieces (postgres/00014_turn_pieces.sql) are where several daemons use the tables.
CREATE TABLE turn_pieces (
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,
    body            TEXT    NOT NULL, -- JSON
    PRIMARY KEY (conversation_id, seq)
);

-- +goose Down
DROP TABLE turn_pieces;
