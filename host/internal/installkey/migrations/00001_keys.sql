-- +goose Up
-- The key of the installation, wrapped by a key that comes from the operator's token. The id
-- comes from the same token: daemons that share a database share its token and this row.
CREATE TABLE installation_keys (
    id      TEXT NOT NULL PRIMARY KEY,
    wrapped BLOB NOT NULL
);

-- +goose Down
DROP TABLE installation_keys;
