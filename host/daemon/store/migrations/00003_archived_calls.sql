-- +goose Up
-- Finds the call whose result is an archived one. Calls with short results have no row.
CREATE INDEX tool_calls_archive ON tool_calls (archive_uuid) WHERE archive_uuid <> '';

-- +goose Down
DROP INDEX tool_calls_archive;
