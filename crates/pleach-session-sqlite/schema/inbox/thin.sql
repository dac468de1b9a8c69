-- Behind the row ?1 only ?2 stays: the others were deleted. ?1 itself stays if it is far enough behind the one before it.
DELETE FROM pleach_searched_{v}
WHERE place > ?1 AND place <> ?2
    OR place = ?1 AND ?2 - coalesce((SELECT max(o.place) FROM pleach_searched_{v} o WHERE o.place < ?1), 0) < ?3
