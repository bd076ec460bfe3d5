-- +goose Up
-- Calls that wait for a person, where several daemons share the tables. The body, as JSON,
-- is there until the request is settled.
CREATE TABLE approvals (
    id         TEXT    NOT NULL PRIMARY KEY,
    principal  TEXT    NOT NULL,
    same       TEXT    NOT NULL, -- the digest of the call, by which another daemon finds it
    asker      TEXT    NOT NULL, -- the process that waits
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    body       BLOB    NOT NULL,
    outcome    TEXT    NOT NULL, -- why it is settled; empty: it is not
    answer     BLOB    NOT NULL  -- of a person, as JSON; empty: there is none
);

-- Answers of people that hold for more than one call, by a digest of the calls, and which
-- scopes contain private text (the digest is 'private').
CREATE TABLE answers (
    principal    TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (principal, conversation, digest)
);

-- +goose Down
DROP TABLE answers;
DROP TABLE approvals;
