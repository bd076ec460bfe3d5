-- +goose Up
-- Nothing reads the call log by time alone, and every call would pay for it.
DROP INDEX tool_calls_created;

-- +goose Down
CREATE INDEX tool_calls_created ON tool_calls (created_at);
