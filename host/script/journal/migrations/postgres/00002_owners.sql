-- +goose Up
-- The processes that run scripts, where several share the tables; '': none does. Each claim
-- adds 1 to the fence, which the owner names with each write.
CREATE TABLE script_owners (
    script_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES scripts (id) ON DELETE CASCADE,
    owner     TEXT             NOT NULL,
    fence     BIGINT           NOT NULL DEFAULT 1
);

-- +goose Down
DROP TABLE script_owners;
