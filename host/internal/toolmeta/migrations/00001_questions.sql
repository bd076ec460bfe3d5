-- +goose Up
-- Questions that tools would answer, as a model wrote them: a JSON list. NULL: the model
-- failed, and is asked again later. digest is that of the tool's text; times are
-- milliseconds since 1970 in UTC.
CREATE TABLE tool_questions (
    digest    TEXT    NOT NULL PRIMARY KEY,
    tool      TEXT    NOT NULL,
    model     TEXT    NOT NULL,
    asked_at  INTEGER NOT NULL,
    questions TEXT
);
