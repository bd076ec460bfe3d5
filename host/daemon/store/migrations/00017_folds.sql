-- +goose Up
-- What was not sent of requests of clients with a loop of their own, because long results of
-- earlier turns were folded: sums.
CREATE TABLE folds (
    principal TEXT    NOT NULL,
    client    TEXT    NOT NULL, -- the program's name
    requests  INTEGER NOT NULL, -- with fold switched on
    cut       INTEGER NOT NULL, -- results that were sent cut, each time counted
    folded    INTEGER NOT NULL, -- and as placeholders
    sent      INTEGER NOT NULL, -- characters of messages
    saved     INTEGER NOT NULL, -- characters that were not sent
    loads     INTEGER NOT NULL, -- calls of the model that weir answered by itself
    refused   INTEGER NOT NULL, -- calls with a placeholder in their arguments
    PRIMARY KEY (principal, client)
);

-- +goose Down
DROP TABLE folds;
