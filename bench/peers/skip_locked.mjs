// The SKIP LOCKED batch relay: rows not yet published are locked, handed over and marked, in one
// transaction a batch. In order with one instance only, and not across late commits.
import pg from 'pg';
import { Meter, rows, url } from './meter.mjs';

const batch = 1000;
const client = new pg.Client({ connectionString: url });
await client.connect();
await client.query('DROP TABLE IF EXISTS skip_locked');
await client.query('CREATE TABLE skip_locked (LIKE events INCLUDING DEFAULTS, published_at timestamptz)');
await client.query('INSERT INTO skip_locked SELECT * FROM events ORDER BY id LIMIT $1', [rows]);
await client.query('CREATE INDEX ON skip_locked (id) WHERE published_at IS NULL');
await client.query('VACUUM ANALYZE skip_locked');
const meter = new Meter(rows);
while (meter.count < rows) {
  await client.query('BEGIN');
  const found = await client.query(
    `SELECT id, key, payload, created_at FROM skip_locked
     WHERE published_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`, [batch]);
  for (const row of found.rows) meter.called(row);
  await client.query('UPDATE skip_locked SET published_at = clock_timestamp() WHERE id = ANY($1)',
    [found.rows.map((row) => row.id)]);
  await client.query('COMMIT');
}
meter.report({ batch, order: 'id', commit: 'a batch' });
await client.end();
