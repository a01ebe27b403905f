-- Rows of one key keep to one lane; rows without a key go to lane 0.
coalesce((hashtextextended(({key})::text, 0) % {lanes} + {lanes}) % {lanes}, 0) = {lane}
