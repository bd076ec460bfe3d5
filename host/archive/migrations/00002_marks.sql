-- +goose Up
-- What a conversation is found by when its id is not given: digests of what its
-- client has seen so far, those of the last answer alone.
CREATE TABLE conversation_marks (
    principal       TEXT NOT NULL,
    mark            TEXT NOT NULL,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    PRIMARY KEY (principal, mark, conversation_id)
) WITHOUT ROWID;
CREATE INDEX conversation_marks_conversation ON conversation_marks (conversation_id);

-- +goose Down
DROP TABLE conversation_marks;
