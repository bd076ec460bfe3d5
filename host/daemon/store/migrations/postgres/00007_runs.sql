-- +goose Up
-- The daemons that live: each says so every second. Times are those of the database.
CREATE TABLE daemons (
    id         TEXT        NOT NULL PRIMARY KEY,
    version    TEXT        NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);

-- Turns under way. state: running, then stored, when its messages are, then ended, when its
-- last event is. Who owns a turn names its fence with each write; each new owner adds 1.
CREATE TABLE runs (
    turn_id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    conversation_id TEXT COLLATE "C" NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    principal       TEXT COLLATE "C" NOT NULL,
    ask             TEXT             NOT NULL, -- how the turn began, as JSON
    resumed         BOOLEAN          NOT NULL, -- its events are in run_events, and it ends with the last of them
    owner           TEXT             NOT NULL, -- of daemons
    fence           BIGINT           NOT NULL DEFAULT 1,
    state           TEXT             NOT NULL DEFAULT 'running',
    outcome         TEXT             NOT NULL DEFAULT '', -- what the last events say, as JSON
    cancel          BOOLEAN          NOT NULL DEFAULT FALSE,
    read_at         TIMESTAMPTZ      NOT NULL DEFAULT clock_timestamp(), -- last, by a client of another daemon
    created_at      TIMESTAMPTZ      NOT NULL DEFAULT clock_timestamp(),
    ended_at        TIMESTAMPTZ
);
CREATE UNIQUE INDEX runs_conversation ON runs (conversation_id) WHERE state = 'running';
CREATE INDEX runs_owner ON runs (owner) WHERE state <> 'ended';
CREATE INDEX runs_ended ON runs (ended_at) WHERE state = 'ended';

-- How far a turn is: the messages that it has added, and what else its end needs, as JSON.
CREATE TABLE run_steps (
    turn_id TEXT COLLATE "C" NOT NULL REFERENCES runs (turn_id) ON DELETE CASCADE,
    seq     BIGINT           NOT NULL,
    body    TEXT             NOT NULL,
    PRIMARY KEY (turn_id, seq)
);

-- Calls with effects that have begun.
CREATE TABLE run_calls (
    turn_id TEXT COLLATE "C" NOT NULL REFERENCES runs (turn_id) ON DELETE CASCADE,
    call_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (turn_id, call_id)
);

-- The events of a turn's stream, some in a row: those with the numbers first to last.
CREATE TABLE run_events (
    turn_id TEXT COLLATE "C" NOT NULL REFERENCES runs (turn_id) ON DELETE CASCADE,
    last    BIGINT           NOT NULL,
    first   BIGINT           NOT NULL,
    data    BYTEA            NOT NULL,
    PRIMARY KEY (turn_id, last)
);

-- +goose Down
DROP TABLE run_events, run_calls, run_steps, runs, daemons;
