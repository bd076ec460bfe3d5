-- +goose Up
-- What the text of a tool means, as an embedding model says it: float32 in little endian,
-- of length 1. digest is that of the tool's text.
CREATE TABLE tool_vectors (
    digest  TEXT    NOT NULL PRIMARY KEY,
    tool    TEXT    NOT NULL,
    model   TEXT    NOT NULL,
    made_at INTEGER NOT NULL,
    vector  BLOB    NOT NULL
);
