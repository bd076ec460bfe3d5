-- +goose Up
-- Times are milliseconds since 1970 in UTC. The long columns are last: reading the others
-- does not touch their overflow pages.
CREATE TABLE scripts (
    id              TEXT    NOT NULL PRIMARY KEY,
    principal       TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    -- what the state belongs to; '': none is stored, and the script begins with its source
    runtime         TEXT    NOT NULL DEFAULT '',
    outcome         TEXT    NOT NULL DEFAULT '',
    script          TEXT    NOT NULL,
    kept            TEXT    NOT NULL DEFAULT '',
    snapshot        BLOB
);
CREATE INDEX scripts_principal ON scripts (principal, created_at);
CREATE INDEX scripts_conversation ON scripts (conversation_id, principal);
CREATE INDEX scripts_unfinished ON scripts (state) WHERE state IN ('running', 'waiting');

-- What a script waited for when its state was stored.
CREATE TABLE script_wants (
    script_id TEXT    NOT NULL REFERENCES scripts (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,
    -- asked: nothing has begun; begun: it may have happened; ended: answer has what came of it
    state     TEXT    NOT NULL,
    -- what a person is asked, and answered, as JSON; '': nothing, not yet
    question  TEXT    NOT NULL DEFAULT '',
    verdict   TEXT    NOT NULL DEFAULT '',
    want      TEXT    NOT NULL,
    answer    TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (script_id, number)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE script_wants;
DROP TABLE scripts;
