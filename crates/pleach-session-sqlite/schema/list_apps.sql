-- The names of the apps, one step in the primary key for each.
WITH RECURSIVE apps (name) AS (
    SELECT min(app_name) FROM sessions
    UNION ALL
    SELECT (SELECT min(app_name) FROM sessions WHERE app_name > apps.name) FROM apps WHERE name IS NOT NULL
)
SELECT name AS app_name FROM apps WHERE name IS NOT NULL
