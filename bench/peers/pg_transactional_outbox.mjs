// pg-transactional-outbox, polling: its own table, rows taken by its function and worked on each in a
// transaction of its own.
import pg from 'pg';
import { DatabaseSetup, getDisabledLogger, initializePollingMessageListener } from 'pg-transactional-outbox';
import { Meter, rows, url } from './meter.mjs';

const batch = 100;
const client = new pg.Client({ connectionString: url });
await client.connect();
const setup = {
  outboxOrInbox: 'outbox', database: client.database, schema: 'public', table: 'pgto', listenerRole: 'postgres',
  nextMessagesSchema: 'public', nextMessagesName: 'next_pgto',
};
await client.query(DatabaseSetup.dropAndCreateTable(setup));
await client.query('DROP FUNCTION IF EXISTS public.next_pgto');
await client.query(DatabaseSetup.createPollingFunction(setup));
await client.query(DatabaseSetup.setupPollingIndexes(setup));
await client.query(
  `INSERT INTO pgto (id, aggregate_type, aggregate_id, message_type, segment, payload)
   SELECT gen_random_uuid(), 'booking', key, 'booked', 'p', payload::jsonb FROM events ORDER BY id LIMIT $1`, [rows]);
const { hostname, port, username, pathname } = new URL(url);
const meter = new Meter(rows);
const [shutdown] = initializePollingMessageListener(
  {
    outboxOrInbox: 'outbox',
    dbListenerConfig: { host: hostname, port: Number(port), user: username, database: pathname.slice(1) },
    settings: {
      dbSchema: 'public', dbTable: 'pgto', enableMaxAttemptsProtection: false, enablePoisonousMessageProtection: false,
      nextMessagesBatchSize: batch, nextMessagesFunctionSchema: 'public', nextMessagesFunctionName: 'next_pgto',
      nextMessagesPollingIntervalInMs: 10,
    },
  },
  { handle: async () => { meter.called(); } },
  getDisabledLogger(),
);
await meter.done;
meter.report({ batch, pollingIntervalMs: 10, order: 'one segment', commit: 'a row' });
await shutdown();
await client.end();
process.exit(0);
