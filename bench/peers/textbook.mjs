// The textbook outbox reader: a cursor, rows after it in batches, the cursor moved after each batch.
// No fence: it loses rows whose transactions commit late.
import pg from 'pg';
import { Meter, rows, url } from './meter.mjs';

const batch = 1000;
const client = new pg.Client({ connectionString: url });
await client.connect();
await client.query('CREATE TABLE IF NOT EXISTS textbook_cursor (name text PRIMARY KEY, id bigint NOT NULL)');
await client.query("INSERT INTO textbook_cursor VALUES ('p', 0) ON CONFLICT (name) DO UPDATE SET id = 0");
const meter = new Meter(rows);
while (meter.count < rows) {
  const { rows: [cursor] } = await client.query("SELECT id FROM textbook_cursor WHERE name = 'p'");
  const found = await client.query(
    'SELECT id, key, payload, created_at FROM events WHERE id > $1 ORDER BY id LIMIT $2',
    [cursor.id, Math.min(batch, rows - meter.count)]);
  for (const row of found.rows) meter.called(row);
  await client.query("UPDATE textbook_cursor SET id = $1 WHERE name = 'p'", [found.rows.at(-1).id]);
}
meter.report({ batch, order: 'id', commit: 'a batch' });
await client.end();
