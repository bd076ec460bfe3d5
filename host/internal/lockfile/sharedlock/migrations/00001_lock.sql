-- +goose Up
-- weir.lock of all daemons that share the database: one row, whose version is
-- another random text after each change.
CREATE TABLE plugin_lock (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version TEXT    NOT NULL,
    body    TEXT    NOT NULL
);

-- The files of approved versions, by the digest of the version, in pieces.
CREATE TABLE plugin_files (
    digest TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    piece  INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (digest, name, piece)
);

-- +goose Down
DROP TABLE plugin_files;
DROP TABLE plugin_lock;
