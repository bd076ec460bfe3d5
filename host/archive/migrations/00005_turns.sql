-- +goose Up
-- What each turn of a conversation took. They go with the conversation.
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

-- What each user took on each day, for quotas. It stays when conversations are
-- deleted: to delete one must not give a quota back.
CREATE TABLE usage_days (
    principal         TEXT    NOT NULL,
    day               TEXT    NOT NULL, -- 2026-01-02, by the clock of the daemon's place
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

-- Sums one user's bytes without a look at the rows.
CREATE INDEX tool_result_archive_stored ON tool_result_archive (principal, stored_bytes);

-- +goose Down
DROP INDEX tool_result_archive_stored;
DROP TABLE usage_recent;
DROP TABLE usage_costs;
DROP TABLE usage_days;
DROP TABLE turns;
