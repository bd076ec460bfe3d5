-- +goose Up
-- What a call's result was cut to, without its text; see store.Call.
ALTER TABLE tool_calls ADD COLUMN view TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tool_calls DROP COLUMN view;
