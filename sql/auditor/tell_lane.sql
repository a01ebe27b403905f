-- An idle lane looks at its cursor when it hears this.
SELECT pg_notify('seriatim_control', $1)
