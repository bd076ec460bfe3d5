-- +goose Up
-- PostgreSQL alone has owners of scripts: a file has one process (postgres/00002_owners.sql).
SELECT 1;

-- +goose Down
SELECT 1;
