-- +goose Up
-- The requests that run of users with a quota, where several daemons share the tables. A
-- daemon renews its own; those of one that died end at their time.
CREATE TABLE usage_running (
    id         TEXT    NOT NULL PRIMARY KEY,
    principal  TEXT    NOT NULL,
    expires_at INTEGER NOT NULL
);

-- +goose Down
DROP TABLE usage_running;
