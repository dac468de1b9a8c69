SELECT id, custom_metadata FROM pleach_memory_metadata_1 WHERE id IN (SELECT value FROM json_each(?1))
