DROP INDEX IF EXISTS pleach_questions_{v}_by_time;
DROP INDEX IF EXISTS pleach_questions_{v}_by_assignee;
DROP TABLE IF EXISTS pleach_questions_{v};
DROP TABLE IF EXISTS pleach_inbox_{v};
DROP TABLE IF EXISTS pleach_events_{v};
DROP TABLE IF EXISTS pleach_searched_{v};
