-- +goose Up
-- A view of '=' is that of the newest earlier call with the same result and another view: a
-- client that polls makes thousands of such calls. They need no place in the index.
DROP INDEX tool_calls_archive;
CREATE INDEX tool_calls_archive ON tool_calls (archive_uuid) WHERE archive_uuid <> '' AND view <> '=';

-- +goose Down
DROP INDEX tool_calls_archive;
CREATE INDEX tool_calls_archive ON tool_calls (archive_uuid) WHERE archive_uuid <> '';
