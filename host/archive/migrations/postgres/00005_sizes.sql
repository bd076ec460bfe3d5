-- +goose Up
-- The table of ../00005_sizes.sql.
CREATE TABLE result_sizes (
    owner TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
);
INSERT INTO result_sizes SELECT owner, sum(stored_bytes) FROM result_texts GROUP BY owner;

CREATE FUNCTION result_sizes_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        UPDATE result_sizes SET bytes = bytes - OLD.stored_bytes WHERE owner = OLD.owner;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO result_sizes VALUES (NEW.owner, NEW.stored_bytes) ON CONFLICT (owner) DO UPDATE SET bytes = result_sizes.bytes + NEW.stored_bytes;
    END IF;
    DELETE FROM result_sizes WHERE TG_OP = 'DELETE' AND owner = OLD.owner AND bytes = 0;
    RETURN NULL;
END $$;
CREATE TRIGGER result_sizes_changed AFTER INSERT OR DELETE OR UPDATE OF stored_bytes ON result_texts
    FOR EACH ROW EXECUTE FUNCTION result_sizes_changed();
