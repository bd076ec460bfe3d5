-- +goose Up
-- Sessions of browsers: only digests, from which nobody can log in.
CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    key        TEXT    NOT NULL,
    token      TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);

-- +goose Down
DROP TABLE sessions;
