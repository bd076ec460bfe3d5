-- +goose Up
-- How far turns with calls are, where one daemon uses the tables: what run_steps (postgres/00007_runs.sql)
-- are where several do. Rows with number 0 have no use any more. The end of a turn deletes
-- them; after a daemon that was killed, the next one stores the turn as far as it came.
CREATE TABLE turn_steps (
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,
    call_id         TEXT    NOT NULL DEFAULT '',
    body            TEXT    NOT NULL DEFAULT '', -- JSON
    PRIMARY KEY (conversation_id, seq, call_id)
);

-- +goose Down
DROP TABLE turn_steps;
