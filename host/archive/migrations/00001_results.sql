-- +goose Up
-- Times are milliseconds since 1970 in UTC; counts of characters are Unicode
-- code points. The long columns are last: reading the others does not touch their
-- overflow pages.
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
    -- 0: not compressed yet, 1: compressed with s2, 2: compression does not help
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
-- Sums the bytes of one user without reading the rows.
CREATE INDEX tool_result_archive_stored ON tool_result_archive (principal, stored_bytes);

-- +goose Down
DROP TABLE tool_result_archive;
