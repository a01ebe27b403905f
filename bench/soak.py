"""Is memory flat? A relay of several lanes under a modest load for half an hour, on a private server.

Producers write transactions of varied length and size, some of which roll back; a prune runs every minute. Memory,
threads and open files of the relay and the memory of its backends are sampled every ten seconds into build/bench/soak.csv.
At the end every committed row must have been delivered once and in order, and memory must not have grown by more than
GROWN_MAX_KIB over the second half, by the line of least squares; `bench/run` fails otherwise.
"""
import csv
import json
import os
import random
import statistics
import subprocess
import threading
import time

from processes import ROOT, SQL, Psql, Relay, Server, statement, status

RESULTS = ROOT / "build" / "bench"
LANES = 4
RATE = 200  # rows inserted a second
EVERY = 10  # seconds between samples
GROWN_MAX_KIB = {"relay_anon_kib": 1024, "backends_anon_kib": 2048}  # backends: all together
PRODUCERS = 4
BIG_ROW = 64 * 1024  # one row in a hundred
COLUMNS = ["seconds", "relay_rss_kib", "relay_anon_kib", "relay_threads", "relay_files", "backends", "backends_anon_kib", "waiting", "load"]

CONFIG = """
[database]
url = "{url}"
[log]
level = "warn"
[[process]]
name = "soak"
lanes = {lanes}
[process.source]
table = "public.soak"
key = "key"
audit_window = "5m"
[process.handler]
kind = "log"
file = "{log}"
payload = false
"""


class Producer(threading.Thread):
    """Transactions of 1 to 20 rows, a tenth of them held open for up to half a second, a twentieth rolled back."""

    def __init__(self, server, number, rate, until):
        super().__init__()
        self.random = random.Random(number)
        self.rate, self.until = rate, until
        self.psql = Psql(server)

    def run(self):
        due = time.monotonic()
        with self.psql:
            while time.monotonic() < self.until:
                rows = self.random.randint(1, 20)
                due += rows / self.rate
                time.sleep(max(0, due - time.monotonic()))
                self.transaction(rows)

    def transaction(self, rows):
        size = BIG_ROW if self.random.random() < 0.01 else self.random.randint(50, 600)
        held = statement("hold_open", seconds=self.random.uniform(0, 0.5)) if self.random.random() < 0.1 else ""
        end = "ROLLBACK" if self.random.random() < 0.05 else "COMMIT"
        self.psql.ask("\n".join(["BEGIN;", statement("insert_soak", rows=rows, size=size), held, f"{end};", "\\echo done"]))


class Pruner(threading.Thread):
    """What was delivered a minute ago goes, every minute; `failed` is what a prune said that did not end well."""

    def __init__(self, command):
        super().__init__()
        self.command, self.done, self.runs, self.rows, self.failed = command, threading.Event(), 0, 0, []

    def run(self):
        while not self.done.wait(60):
            one = subprocess.run(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.runs += 1
            if one.returncode != 0:
                self.failed.append(one.stdout + one.stderr)
            else:
                self.rows += sum(table["rows"] for table in json.loads(one.stdout)["tables"])


def waiting_rows(server):
    return int(server.sql(statement("soak_waiting")))


def sample(server, relay, began):
    """A backend's RSS counts every page of shared_buffers it ever touched; what it has for itself is anonymous."""
    pids = server.sql(statement("relay_backends", process="soak")).split()
    rss, anon, threads = status(relay.pid, "VmRSS", "RssAnon", "Threads")
    files = len(os.listdir(f"/proc/{relay.pid}/fd"))
    return dict(zip(COLUMNS, [round(time.monotonic() - began), rss, anon, threads, files, len(pids),
                              sum(status(pid, "RssAnon")[0] for pid in pids), waiting_rows(server), os.getloadavg()[0]]))


def growth(samples, column):
    """First and last medians, and what the line of least squares through the second half rises by over that half."""
    half = samples[len(samples) // 2:]
    times, values = [s["seconds"] for s in half], [s[column] for s in half]
    middle, mean = statistics.mean(times), statistics.mean(values)
    spread = sum((t - middle) ** 2 for t in times)
    slope = sum((t - middle) * (v - mean) for t, v in zip(times, values)) / spread if spread else 0.0
    some = max(1, len(samples) // 10)
    all_values = [s[column] for s in samples]
    return {"first": statistics.median(all_values[:some]), "half": statistics.median(values[:some]), "last": statistics.median(values[-some:]),
            "most": max(all_values), "slope_per_hour": slope * 3600, "grown_in_second_half": slope * (times[-1] - times[0])}


def verdict(committed, lines):
    """What is wrong with what the log handler wrote: once each, sequence 1, 2, 3 … and positions rising in each lane."""
    wrong, seen, latest = [], set(), {}
    for line in lines:
        row = json.loads(line)
        lane, number, position = row["lane"], row["sequence"], (row["created_at"], int(row["id"]))
        before = latest.get(lane, (0, ("", 0)))
        if number != before[0] + 1:
            wrong.append(f"lane {lane}: number {number} after {before[0]}")
        if position <= before[1]:
            wrong.append(f"lane {lane}: row {row['id']} out of order")
        if position[1] in seen:
            wrong.append(f"row {row['id']} twice")
        seen.add(position[1])
        latest[lane] = (number, position)
    wrong += [f"row {one} lost" for one in sorted(committed - seen)] + [f"row {one} never committed" for one in sorted(seen - committed)]
    return wrong


def at_rest(server, deadline):
    while time.monotonic() < deadline:
        if waiting_rows(server) == 0:
            return
        time.sleep(0.2)


def prepare(server, program):
    """Where the relay's configuration, what it delivered and what it said are."""
    config, delivered, said = (server.folder / name for name in ("seriatim.toml", "delivered.jsonl", "relay.log"))
    config.write_text(CONFIG.format(url=server.url, lanes=LANES, log=delivered))
    subprocess.run([program, "init", "--config", str(config)], check=True, stdout=subprocess.DEVNULL)
    server.sql(statement("create_soak"))
    return config, delivered, said


def watch(server, relay, until):
    """A sample every so often for as long as the producers write, if the relay lives so long."""
    began = time.monotonic()
    samples = []
    while time.monotonic() < until and relay.process.poll() is None:
        time.sleep(EVERY)
        samples.append(sample(server, relay, began))
        write_samples(samples)
    return samples


def run_load(server, program, minutes, config, said):
    """Samples, what the prunes did, and what the relay ended with."""
    pruner = Pruner([program, "prune", "--config", str(config), "--older-than", "60s", "--json"])
    until = time.monotonic() + 60 * minutes
    with said.open("w") as log, Relay(program, config, log) as relay:
        producers = [Producer(server, number, RATE / PRODUCERS, until) for number in range(PRODUCERS)]
        try:
            for thread in [pruner, *producers]:
                thread.start()
            samples = watch(server, relay, until)
            for producer in producers:
                producer.join()
            at_rest(server, time.monotonic() + 60)
        finally:
            pruner.done.set()
    pruner.join()
    return samples, pruner, relay.process.returncode


def soak(server, program, minutes):
    config, delivered, said = prepare(server, program)
    samples, pruner, code = run_load(server, program, minutes, config, said)
    committed = {int(one) for one in server.sql(statement("soak_committed")).split()}
    with delivered.open() as lines:
        wrong = verdict(committed, lines)
    wrong += [f"the relay ended with {code}: {said.read_text()}"] if code else []
    wrong += [f"prune: {one}" for one in pruner.failed]
    return {"minutes": minutes, "rate": RATE, "lanes": LANES, "committed": len(committed), "wrong": wrong,
            "pruned": pruner.rows, "prunes": pruner.runs, "samples": len(samples), "load": statistics.median(s["load"] for s in samples),
            **{column: growth(samples, column) for column in COLUMNS[1:7]}}


def write_samples(samples):
    with (RESULTS / "soak.csv").open("w", newline="") as out:
        table = csv.DictWriter(out, COLUMNS)
        table.writeheader()
        table.writerows(samples)


def say(report):
    print(f"{report['committed']} rows committed in {report['minutes']:g} minutes, {report['pruned']} pruned in {report['prunes']} runs: "
          + ("each delivered once, in order" if not report["wrong"] else f"{len(report['wrong'])} things wrong"))
    for line in report["wrong"][:20]:
        print("  " + line)
    for column in COLUMNS[1:7]:
        one = report[column]
        print(f"{column:18} first {one['first']:.0f}, half way {one['half']:.0f}, last {one['last']:.0f}, most {one['most']:.0f}; "
              f"second half {one['slope_per_hour']:+.0f} an hour, {one['grown_in_second_half']:+.0f} in all")


def measure(program, quick, _tell):
    RESULTS.mkdir(parents=True, exist_ok=True)
    with Server() as server:
        report = {"server_version": server.sql((SQL / "server_version.sql").read_text()), **soak(server, program, 1 if quick else 30)}
    report["flat"] = all(report[column]["grown_in_second_half"] <= most for column, most in GROWN_MAX_KIB.items())
    say(report)
    print("memory is flat" if report["flat"] else "memory GREW by more than allowed")
    return report
