-- +goose Up
-- PostgreSQL alone changes (postgres/00013_keys.sql).
SELECT 1;

-- +goose Down
SELECT 1;
