-- +goose Up
-- Tokens made for client programs: only digests, by which nobody gets in. owner is the digest
-- of the token that made it.
CREATE TABLE client_tokens (
    digest     TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX client_tokens_principal ON client_tokens (principal);

-- +goose Down
DROP TABLE client_tokens;
