-- +goose Up
-- Each row that a turn writes cost a query of its own for its foreign key. No row is written for
-- a conversation or a turn that is gone: all who write wait for one lock, and name it first.
ALTER TABLE messages DROP CONSTRAINT messages_conversation_id_fkey;
ALTER TABLE conversation_fingerprints DROP CONSTRAINT conversation_fingerprints_conversation_id_fkey;
ALTER TABLE traces DROP CONSTRAINT traces_conversation_id_fkey;
ALTER TABLE turns DROP CONSTRAINT turns_conversation_id_fkey;
ALTER TABLE runs DROP CONSTRAINT runs_conversation_id_fkey;
CREATE FUNCTION conversation_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_steps WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM run_calls WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM run_events WHERE turn_id IN (SELECT turn_id FROM runs WHERE conversation_id = OLD.id);
    DELETE FROM runs WHERE conversation_id = OLD.id;
    DELETE FROM messages WHERE conversation_id = OLD.id;
    DELETE FROM conversation_fingerprints WHERE conversation_id = OLD.id;
    DELETE FROM traces WHERE conversation_id = OLD.id;
    DELETE FROM turns WHERE conversation_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER conversation_deleted AFTER DELETE ON conversations FOR EACH ROW EXECUTE FUNCTION conversation_deleted();

-- What belongs to a turn is deleted with it, or within a minute.
ALTER TABLE run_steps DROP CONSTRAINT run_steps_turn_id_fkey;
ALTER TABLE run_calls DROP CONSTRAINT run_calls_turn_id_fkey;
ALTER TABLE run_events DROP CONSTRAINT run_events_turn_id_fkey;

-- These tables have few rows, for minutes.
DROP INDEX runs_owner, runs_ended;
ALTER TABLE run_steps SET (toast_tuple_target = 8160);
ALTER TABLE run_events SET (toast_tuple_target = 8160);

-- +goose Down
SELECT 1;
