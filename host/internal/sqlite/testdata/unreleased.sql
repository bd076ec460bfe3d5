-- +goose Up
-- Times are milliseconds since 1970 in UTC; counts of characters are Unicode
-- code points. The long columns stand last, so that reading the others does
-- not walk through their overflow pages.
CREATE TABLE tool_result_archive (
    uuid            TEXT    NOT NULL PRIMARY KEY,
    principal       TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    thread_id       TEXT    NOT NULL DEFAULT '',
    turn            INTEGER NOT NULL DEFAULT 0,
    call_id         TEXT    NOT NULL DEFAULT '',
    tool_name       TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER,
    last_loaded_at  INTEGER,
    load_count      INTEGER NOT NULL DEFAULT 0,
    pruned_at       INTEGER,
    result_sha256   TEXT    NOT NULL,
    result_length   INTEGER NOT NULL,
    result_lines    INTEGER NOT NULL,
    result_bytes    INTEGER NOT NULL,
    stored_bytes    INTEGER NOT NULL,
    rules           INTEGER NOT NULL DEFAULT 0,
    -- 0: as it came, 1: zstd, 2: as it came, because zstd does not make it smaller
    encoding        INTEGER NOT NULL DEFAULT 0,
    query_summary   TEXT    NOT NULL DEFAULT '',
    tool_input      TEXT    NOT NULL DEFAULT '{}',
    result_summary  TEXT    NOT NULL DEFAULT '',
    sources         TEXT    NOT NULL DEFAULT '[]',
    result_full     TEXT,
    result_parts    BLOB,
    result_raw      BLOB
);
CREATE INDEX tool_result_archive_conversation ON tool_result_archive (conversation_id, principal, created_at, uuid);
CREATE INDEX tool_result_archive_principal ON tool_result_archive (principal, created_at, uuid);
CREATE INDEX tool_result_archive_thread ON tool_result_archive (thread_id) WHERE thread_id <> '';
CREATE INDEX tool_result_archive_sha256 ON tool_result_archive (result_sha256);
CREATE INDEX tool_result_archive_encoding ON tool_result_archive (created_at) WHERE encoding = 0;

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
CREATE INDEX tool_calls_created ON tool_calls (created_at);

-- +goose Down
DROP TABLE tool_calls;
DROP TABLE messages;
DROP TABLE conversations;
DROP TABLE tool_result_archive;
