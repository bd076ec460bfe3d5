-- +goose Up
-- What else a card of a call shows, as JSON; see store.Extra.
ALTER TABLE tool_calls ADD COLUMN extra TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tool_calls DROP COLUMN extra;
