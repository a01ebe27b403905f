-- What each cursor was kept for, so that it is not taken for another's: {"system", "timeline",
-- "database", "table", "table_oid", "order_by", "id", "created_at"}, values as text. NULL: not noted
-- yet. Noted at the first claim, compared at each, replaced by `seriatim adopt` alone.
ALTER TABLE seriatim.cursor ADD COLUMN identity jsonb;
