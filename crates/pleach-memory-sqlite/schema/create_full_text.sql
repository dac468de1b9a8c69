-- The index holds no texts of its own; the triggers keep it in step with memory_events.
CREATE VIRTUAL TABLE IF NOT EXISTS memory_events_fts USING fts5(
  search_text,
  content='memory_events',
  content_rowid='id',
  tokenize='unicode61'
);
CREATE TRIGGER IF NOT EXISTS memory_events_ai AFTER INSERT ON memory_events BEGIN
  INSERT INTO memory_events_fts(rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER IF NOT EXISTS memory_events_ad AFTER DELETE ON memory_events BEGIN
  INSERT INTO memory_events_fts(memory_events_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER IF NOT EXISTS memory_events_au AFTER UPDATE OF search_text ON memory_events BEGIN
  INSERT INTO memory_events_fts(memory_events_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
  INSERT INTO memory_events_fts(rowid, search_text) VALUES (new.id, new.search_text);
END;
