-- The server's end of the connection gives a client up that vanished as soon as ours gives up a
-- server. Only what this server knows and lets a role set: lookalikes and managed ones differ.
-- $1 … $3 keepalives: idle s, interval s, count  $4 tcp_user_timeout in ms
SELECT set_config(wanted.name, wanted.value, false)
FROM (VALUES ('tcp_keepalives_idle', $1), ('tcp_keepalives_interval', $2),
             ('tcp_keepalives_count', $3), ('tcp_user_timeout', $4)) AS wanted (name, value)
JOIN pg_settings AS known ON known.name = wanted.name AND known.context = 'user'
