-- +goose Up
-- What the texts of each principal use on disk: every call of a user with a quota asks.
CREATE TABLE result_sizes (
    owner TEXT    NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO result_sizes SELECT owner, sum(stored_bytes) FROM result_texts GROUP BY owner;

-- +goose StatementBegin
CREATE TRIGGER result_sizes_added AFTER INSERT ON result_texts
BEGIN
    INSERT INTO result_sizes VALUES (NEW.owner, NEW.stored_bytes) ON CONFLICT (owner) DO UPDATE SET bytes = bytes + NEW.stored_bytes;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER result_sizes_compressed AFTER UPDATE OF stored_bytes ON result_texts
BEGIN
    UPDATE result_sizes SET bytes = bytes + NEW.stored_bytes - OLD.stored_bytes WHERE owner = NEW.owner;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER result_sizes_removed AFTER DELETE ON result_texts
BEGIN
    UPDATE result_sizes SET bytes = bytes - OLD.stored_bytes WHERE owner = OLD.owner;
    DELETE FROM result_sizes WHERE owner = OLD.owner AND bytes = 0;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER result_sizes_removed;
DROP TRIGGER result_sizes_compressed;
DROP TRIGGER result_sizes_added;
DROP TABLE result_sizes;
