// graphile-worker: a job a row, no order between jobs. With its local queue and batched completion,
// as its authors advise for throughput. (In order, through one named queue, it is a thousand times
// slower.)
import { run, runMigrations } from 'graphile-worker';
import pg from 'pg';
import { Meter, rows, url } from './meter.mjs';

const concurrentJobs = 24;
const preset = {
  worker: {
    connectionString: url, concurrentJobs, maxPoolSize: 10, pollInterval: 100,
    localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0,
  },
};
const quiet = { logger: undefined };
await runMigrations({ connectionString: url });
const client = new pg.Client({ connectionString: url });
await client.connect();
await client.query(
  `SELECT graphile_worker.add_jobs(array_agg(json_populate_record(NULL::graphile_worker.job_spec,
     json_build_object('identifier', 'event', 'payload', e.payload))))
   FROM (SELECT payload FROM events ORDER BY id LIMIT $1) AS e`, [rows]);
await client.end();
const meter = new Meter(rows);
const runner = await run({ preset, taskList: { event: () => { meter.called(); } }, noHandleSignals: true, ...quiet });
await meter.done;
meter.report({ concurrentJobs, localQueue: 500, order: 'none', commit: 'jobs completed in batches' });
await runner.stop();
