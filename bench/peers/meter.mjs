// What every peer is measured by: rows a second from the first call to the last, processor time and
// memory of the process. One JSON object on one line.
export class Meter {
  constructor(rows) {
    this.rows = rows;
    this.count = 0;
    this.done = new Promise((resolve) => { this.finish = resolve; });
  }

  // The handler that does nothing.
  called() {
    this.count += 1;
    if (this.count === 1) {
      this.first = process.hrtime.bigint();
      this.cpu = process.cpuUsage();
    }
    if (this.count === this.rows) {
      this.last = process.hrtime.bigint();
      this.finish();
    }
  }

  report(settings) {
    const seconds = Number(this.last - this.first) / 1e9;
    const cpu = process.cpuUsage(this.cpu);
    console.log(JSON.stringify({
      rows_per_s: (this.count - 1) / seconds,
      client_cpu_s_per_100k_rows: ((cpu.user + cpu.system) / 1e6 / this.count) * 1e5,
      rss_mb: process.memoryUsage().rss / 1048576,
      rows: this.count,
      settings,
    }));
  }
}

export const url = process.env.DATABASE_URL;
export const rows = Number(process.env.ROWS);
