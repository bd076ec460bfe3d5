-- +goose Up
-- PostgreSQL alone has tables of turns under way: a file has one daemon (postgres/00007_runs.sql).
SELECT 1;

-- +goose Down
SELECT 1;
