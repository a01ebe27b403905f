-- An id as the table would write it; fails where the text is no such id.
SELECT $1::{id_type}::text
