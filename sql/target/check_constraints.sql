-- Deferred constraints now, while it is known whose rows break them.
SET CONSTRAINTS ALL IMMEDIATE
