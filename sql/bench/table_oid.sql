SELECT to_regclass('public.events')::oid
