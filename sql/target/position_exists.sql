SELECT to_regclass('seriatim_position') IS NOT NULL
