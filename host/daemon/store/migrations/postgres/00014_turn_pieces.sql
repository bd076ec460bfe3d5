-- +goose Up
-- That of a file, for copies.
CREATE TABLE turn_pieces (
    conversation_id TEXT COLLATE "C" NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             BIGINT           NOT NULL,
    body            TEXT             NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);

-- What was streamed of a reply since the last of run_steps, a second behind at most. It belongs
-- to the daemon with that fence.
CREATE TABLE run_pieces (
    turn_id TEXT COLLATE "C" NOT NULL,
    fence   BIGINT           NOT NULL,
    seq     BIGINT           NOT NULL,
    body    TEXT             NOT NULL,
    PRIMARY KEY (turn_id, fence, seq)
);

CREATE OR REPLACE FUNCTION conversation_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_steps WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM run_calls WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM run_events WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM run_pieces WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM runs WHERE conversation_id = OLD.id;
    DELETE FROM messages WHERE conversation_id = OLD.id;
    DELETE FROM conversation_fingerprints WHERE conversation_id = OLD.id;
    DELETE FROM traces WHERE conversation_id = OLD.id;
    DELETE FROM turns WHERE conversation_id = OLD.id;
    RETURN NULL;
END $$;

-- +goose Down
SELECT 1;
