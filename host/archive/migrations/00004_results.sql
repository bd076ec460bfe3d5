-- +goose Up
-- Times are milliseconds since 1970 in UTC; counts of characters are Unicode
-- code points.

-- A text with the parts and the raw bytes of its result. Each principal has one row for
-- all results with the same bytes: digest is the SHA-256 of the text alone, or of all
-- three if there are parts or raw bytes. The long columns are last: reading the others
-- does not touch their overflow pages.
CREATE TABLE result_texts (
    id           INTEGER PRIMARY KEY,
    owner        TEXT    NOT NULL,
    digest       BLOB    NOT NULL,
    stored_at    INTEGER NOT NULL,
    stored_bytes INTEGER NOT NULL,
    -- 0: not compressed yet, 1: compressed with s2, 2: compression does not help
    encoding     INTEGER NOT NULL DEFAULT 0,
    result_full  TEXT    NOT NULL,
    result_parts BLOB,
    result_raw   BLOB
);
-- Finds a text, and sums the bytes of one principal without reading the rows.
CREATE INDEX result_texts_digest ON result_texts (owner, digest, stored_bytes);

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
    rules           INTEGER NOT NULL DEFAULT 0,
    -- of result_texts; NULL: the text was pruned
    text_id         INTEGER,
    query_summary   TEXT    NOT NULL DEFAULT '',
    tool_input      TEXT    NOT NULL DEFAULT '{}',
    -- NULL: the first reader describes the text
    result_summary  TEXT,
    sources         TEXT
);
CREATE INDEX tool_result_archive_conversation ON tool_result_archive (conversation_id, principal, created_at, uuid);
CREATE INDEX tool_result_archive_principal ON tool_result_archive (principal, created_at, uuid);
CREATE INDEX tool_result_archive_thread ON tool_result_archive (thread_id) WHERE thread_id <> '';
-- Finds the results with a text, and among them those that may be identical, newest last.
CREATE INDEX tool_result_archive_text ON tool_result_archive (text_id, conversation_id, thread_id, tool_name);

-- A text goes with the last result that refers to it.
-- +goose StatementBegin
CREATE TRIGGER result_texts_deleted AFTER DELETE ON tool_result_archive WHEN OLD.text_id IS NOT NULL
BEGIN
    DELETE FROM result_texts WHERE id = OLD.text_id AND NOT EXISTS (SELECT 1 FROM tool_result_archive WHERE text_id = OLD.text_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER result_texts_pruned AFTER UPDATE OF text_id ON tool_result_archive WHEN OLD.text_id IS NOT NULL
BEGIN
    DELETE FROM result_texts WHERE id = OLD.text_id AND NOT EXISTS (SELECT 1 FROM tool_result_archive WHERE text_id = OLD.text_id);
END;
-- +goose StatementEnd

-- What the passages of results mean, as an embedding model says it: float32 in little
-- endian, of length 1. A row goes with its result, and with the text of it.
CREATE TABLE result_vectors (
    uuid            TEXT    NOT NULL,
    principal       TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    first_line      INTEGER NOT NULL,
    last_line       INTEGER NOT NULL,
    vector          BLOB    NOT NULL
);
CREATE INDEX result_vectors_uuid ON result_vectors (uuid);
CREATE INDEX result_vectors_principal ON result_vectors (principal, conversation_id);

-- +goose StatementBegin
CREATE TRIGGER result_vectors_deleted AFTER DELETE ON tool_result_archive
BEGIN
    DELETE FROM result_vectors WHERE uuid = OLD.uuid;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER result_vectors_pruned AFTER UPDATE OF pruned_at ON tool_result_archive WHEN NEW.pruned_at IS NOT NULL
BEGIN
    DELETE FROM result_vectors WHERE uuid = NEW.uuid;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER result_vectors_pruned;
DROP TRIGGER result_vectors_deleted;
DROP TABLE result_vectors;
DROP TABLE tool_result_archive;
DROP TABLE result_texts;
