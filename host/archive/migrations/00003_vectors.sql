-- +goose Up
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
