-- +goose Up
-- Times are milliseconds since 1970 in UTC.
CREATE TABLE conversations (
    id         TEXT    NOT NULL PRIMARY KEY,
    principal  TEXT    NOT NULL,
    title      TEXT    NOT NULL DEFAULT '',
    profile    TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX conversations_principal ON conversations (principal, updated_at);

CREATE TABLE messages (
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,
    turn            INTEGER NOT NULL,
    role            TEXT    NOT NULL,
    model           TEXT    NOT NULL DEFAULT '',
    created_at      INTEGER NOT NULL,
    content         TEXT    NOT NULL,
    thinking        TEXT    NOT NULL DEFAULT '',
    body            TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (conversation_id, seq)
);

-- Digests by which a conversation is found without its id: of everything that its
-- client has seen. Only the digests after the last answer are stored.
CREATE TABLE conversation_fingerprints (
    principal       TEXT NOT NULL,
    fingerprint     TEXT NOT NULL,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    PRIMARY KEY (principal, fingerprint, conversation_id)
) WITHOUT ROWID;
CREATE INDEX conversation_fingerprints_conversation ON conversation_fingerprints (conversation_id);

-- The call log. It has no index by time: nothing reads it by time alone, and every
-- call would pay for it.
CREATE TABLE tool_calls (
    id              INTEGER PRIMARY KEY,
    principal       TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    turn            INTEGER NOT NULL,
    call_id         TEXT    NOT NULL DEFAULT '',
    tool_name       TEXT    NOT NULL,
    model           TEXT    NOT NULL DEFAULT '',
    format          TEXT    NOT NULL DEFAULT '',
    code            TEXT    NOT NULL DEFAULT '',
    cut_by          TEXT    NOT NULL DEFAULT '',
    produced        INTEGER NOT NULL DEFAULT 0,
    shown           INTEGER NOT NULL DEFAULT 0,
    archive_uuid    TEXT    NOT NULL DEFAULT '',
    duration_us     INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL
);
CREATE INDEX tool_calls_conversation ON tool_calls (conversation_id, principal);

-- A report of each turn, as JSON. The oldest are deleted automatically.
CREATE TABLE traces (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn            INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    body            TEXT    NOT NULL
);
CREATE INDEX traces_conversation ON traces (conversation_id, id);

-- The tokens and the cost of each turn.
CREATE TABLE turns (
    id                   INTEGER PRIMARY KEY,
    conversation_id      TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    turn                 INTEGER NOT NULL,
    model                TEXT    NOT NULL DEFAULT '',
    reason               TEXT    NOT NULL DEFAULT '',
    created_at           INTEGER NOT NULL,
    duration_us          INTEGER NOT NULL DEFAULT 0,
    prompt_tokens        INTEGER NOT NULL DEFAULT 0,
    completion_tokens    INTEGER NOT NULL DEFAULT 0,
    cached_prompt_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens   INTEGER NOT NULL DEFAULT 0,
    -- NULL: the price is unknown
    cost                 REAL,
    currency             TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX turns_conversation ON turns (conversation_id, id);

-- The usage of each user on each day, for quotas. It stays when conversations are
-- deleted, because deleting one must not give quota back.
CREATE TABLE usage_days (
    principal         TEXT    NOT NULL,
    day               TEXT    NOT NULL, -- 2026-01-02, in the daemon's time zone
    requests          INTEGER NOT NULL DEFAULT 0,
    refused           INTEGER NOT NULL DEFAULT 0,
    prompt_tokens     INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (principal, day)
) WITHOUT ROWID;
CREATE TABLE usage_costs (
    principal TEXT NOT NULL,
    day       TEXT NOT NULL,
    currency  TEXT NOT NULL,
    amount    REAL NOT NULL,
    PRIMARY KEY (principal, day, currency)
) WITHOUT ROWID;
-- The requests of the last minute: milliseconds since 1970, as JSON.
CREATE TABLE usage_recent (
    principal TEXT NOT NULL PRIMARY KEY,
    times     TEXT NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE usage_recent;
DROP TABLE usage_costs;
DROP TABLE usage_days;
DROP TABLE turns;
DROP TABLE traces;
DROP TABLE tool_calls;
DROP TABLE conversation_fingerprints;
DROP TABLE messages;
DROP TABLE conversations;
