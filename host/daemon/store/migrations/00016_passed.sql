-- +goose Up
-- Requests that are passed through, for clients with a loop of their own. Such a client sends its
-- whole history with each request: a message is here once for each user, whatever number of
-- requests and branches has it.
CREATE TABLE passed_texts (
    principal TEXT NOT NULL,
    digest    TEXT NOT NULL, -- passthrough.Message.Digest
    content   TEXT NOT NULL,
    thinking  TEXT NOT NULL DEFAULT '',
    body      TEXT NOT NULL, -- what else the message has, as JSON
    PRIMARY KEY (principal, digest)
);
-- Not empty: the text of the message is that of passed_texts, and body has what belongs to this
-- place alone.
ALTER TABLE messages ADD COLUMN digest TEXT NOT NULL DEFAULT '';
CREATE INDEX messages_digest ON messages (digest) WHERE digest <> '';
-- 1: no list has the conversation.
ALTER TABLE conversations ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;

-- A branch is what requests that continue each other have in common: a conversation of its own.
CREATE TABLE passed_branches (
    conversation_id TEXT    NOT NULL PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    principal       TEXT    NOT NULL,
    client          TEXT    NOT NULL DEFAULT '', -- the program's name
    label           TEXT    NOT NULL DEFAULT '', -- what the client calls the conversation
    model           TEXT    NOT NULL,
    setting         TEXT    NOT NULL, -- a digest of system and tools
    system          TEXT    NOT NULL DEFAULT '', -- digests of passed_texts
    tools           TEXT    NOT NULL DEFAULT '',
    root            TEXT    NOT NULL DEFAULT '', -- a digest of the messages up to the first answer
    tail            TEXT    NOT NULL, -- and of all messages of the last request
    sent            INTEGER NOT NULL, -- how many those are
    side            INTEGER NOT NULL DEFAULT 0 -- 1: it began with messages of another branch, under another setting
);
CREATE INDEX passed_branches_tail ON passed_branches (principal, tail);
CREATE INDEX passed_branches_root ON passed_branches (principal, root);

-- What weir remembers about messages of a client, by their digests.
CREATE TABLE passed_notes (
    principal       TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    digest          TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL, -- with which it is deleted; it may not be there yet
    body            TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (principal, kind, digest)
);
CREATE INDEX passed_notes_conversation ON passed_notes (conversation_id);

-- +goose Down
SELECT 1;
