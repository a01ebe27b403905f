// Emmett's consumer of its own PostgreSQL event store, with the largest batches that speed it up.
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { Meter, rows, url } from './meter.mjs';

const batchSize = 1000;
const pullingFrequencyInMs = 50;
const store = getPostgreSQLEventStore(url);
await store.schema.migrate();
await store.schema.dangerous.truncate({ resetSequences: true });
const filler = 'x'.repeat(200);
for (let at = 0; at < rows; at += 500) {
  const events = Array.from({ length: Math.min(500, rows - at) },
    (_, i) => ({ type: 'booked', data: { number: at + i, text: 'booked', filler } }));
  await store.appendToStream(`booking-${at}`, events);
}
const meter = new Meter(rows);
const consumer = store.consumer({ pulling: { batchSize, pullingFrequencyInMs } });
consumer.reactor({
  processorId: `bench-${process.pid}`, startFrom: 'BEGINNING', eachMessage: () => { meter.called(); },
});
const running = consumer.start();
await Promise.race([meter.done, running]);
meter.report({ batchSize, pullingFrequencyInMs, order: 'global position', commit: 'a checkpoint a message' });
process.exit(0);
