#!/usr/bin/env python3
"""A handler in Python, mode = "batch": one transaction for as many records as came together.

`rest` says how many lines follow at once. After a record that failed no later one is touched, and
the handler starts this program anew.
"""
import json
import sqlite3
import sys

model = sqlite3.connect(sys.argv[1], isolation_level=None)
model.execute("CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, type TEXT, payload TEXT)")


def answer(record, outcome, **more):
    sys.stdout.write(json.dumps({"id": record["id"], "outcome": outcome, **more}) + "\n")


def take(group):
    """Answers for those that are committed, and for the one that was refused."""
    done, refusal = [], None
    model.execute("BEGIN IMMEDIATE")
    for record in group:
        if "payload" not in record:
            refusal = record
            break
        model.execute(  # a record that comes again changes nothing
            "INSERT OR IGNORE INTO event VALUES (?, ?, ?)",
            [record["id"], record.get("event_type"), json.dumps(record["payload"])],
        )
        done.append(record)
    model.execute("COMMIT")
    for record in done:
        answer(record, "done")
    if refusal:
        answer(refusal, "poison", reason="the payload is no JSON")
    sys.stdout.flush()
    return refusal is None


group = []
for line in sys.stdin.buffer:
    group.append(json.loads(line))
    if group[-1]["rest"] == 0:
        if not take(group):
            break
        group = []
