SELECT id FROM witness
