-- $3 from  $4 to
t.{id} BETWEEN $3::bigint AND $4::bigint
