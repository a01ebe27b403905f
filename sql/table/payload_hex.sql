-- bytea travels as hex digits.
encode({raw_payload}, 'hex')
