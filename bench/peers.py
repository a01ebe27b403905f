"""The peers of bench/peers, and ours next to them, on one private server: the same rows, in turns."""
import json
import os
import statistics
import subprocess

from processes import ROOT, SQL, Server

# (name, script, rows of a repeat): the slow ones get fewer, so that a repeat takes seconds.
PEERS = [
    ("textbook cursor loop (Node)", "textbook", 100_000),
    ("SKIP LOCKED batch relay (Node)", "skip_locked", 100_000),
    ("graphile-worker 0.18.0, unordered", "graphile_worker", 20_000),
    ("Emmett 0.42.0 PostgreSQL consumer", "emmett", 5_000),
    ("pg-transactional-outbox 0.5.7, polling", "pg_transactional_outbox", 200),
]


def fill(server, program, rows):
    server.init_schema(program)
    server.sql((SQL / "create_events.sql").read_text().replace("{storage}", ""))
    server.sql((SQL / "append_rows.sql").read_text().replace("$1", str(rows)))
    for name in ("settle", "checkpoint"):
        server.sql((SQL / f"{name}.sql").read_text())


def run_peer(script, url, rows):
    """What the peer reports, or why it was left out."""
    done = subprocess.run([str(ROOT / "bench" / "peers" / "run"), script], env={**os.environ, "DATABASE_URL": url, "ROWS": str(rows)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    said = [line for line in done.stdout.splitlines() if line.startswith('{"rows_per_s"')]  # some log to stdout
    return json.loads(said[-1]), None


def run_ours(program, url, rows):
    done = subprocess.run([program, "bench", "null", "--order", "id", "--rows", str(rows), "--repeats", "1", "--json", "--database", url],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    figure = json.loads(done.stdout)["figures"][0]
    measured = figure["measured"]
    return {"rows_per_s": figure["rows_per_s"], "client_cpu_s_per_100k_rows": measured["relay_cpu_s_per_100k_rows"]["median"],
            "rss_mb": measured["relay_rss_mb"]["median"], "rows": rows,
            "settings": {"batch_rows": figure["settings"]["batch_rows"], "order": "id", "commit": "a batch, durable"}}


def summary(name, samples):
    rates = [sample["rows_per_s"] for sample in samples]
    return {"name": name, "rows_per_s": statistics.median(rates), "min": min(rates), "max": max(rates), "repeats": len(rates),
            "client_cpu_s_per_100k_rows": statistics.median(s["client_cpu_s_per_100k_rows"] for s in samples),
            "rss_mb": statistics.median(s["rss_mb"] for s in samples), "rows": str(samples[0]["rows"]),
            "settings": ", ".join(f"{key} {value}" for key, value in samples[0]["settings"].items())}


def measure(program, quick, say):
    repeats, share = (2, 10) if quick else (5, 1)
    samples = {name: [] for name in ["seriatim", *(peer[0] for peer in PEERS)]}
    left_out = {}
    with Server() as server:
        version = server.sql((SQL / "server_version.sql").read_text())
        most = max(peer[2] for peer in PEERS) // share
        fill(server, program, most)
        for repeat in range(repeats):
            say(f"peers, repeat {repeat + 1} of {repeats}")
            samples["seriatim"].append(run_ours(program, server.url, most))
            for name, script, rows in PEERS:
                if name in left_out:
                    continue
                said, reason = run_peer(script, server.url, rows // share)
                if said:
                    samples[name].append(said)
                else:
                    left_out[name] = reason
                    say(f"{name} is left out: {reason}")
    return {"server_version": version, "left_out": [f"{name}: {reason}" for name, reason in left_out.items()],
            "peers": [summary(name, found) for name, found in samples.items() if found]}
