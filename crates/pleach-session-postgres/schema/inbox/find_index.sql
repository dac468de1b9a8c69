-- Whether an index of ours on events is as we make it: no row when there is none. A build that was cut
-- off leaves an invalid index, and only a build that was completed left the comment.
SELECT coalesce(i.indisvalid AND i.indisready AND obj_description(i.indexrelid, 'pg_class') = '{comment}', false) AS is_sound
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('events') AND c.relname = '{index}'
