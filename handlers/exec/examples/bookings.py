#!/usr/bin/env python3
"""A handler in Python, mode = "single": what each booking comes to, one row a customer, in SQLite.

Rows may come again after a fault, so the model remembers the number of the last one it took; effect
and number are committed together.
"""
import json
import sqlite3
import sys

model = sqlite3.connect(sys.argv[1], isolation_level=None)
model.execute("CREATE TABLE IF NOT EXISTS total (customer TEXT PRIMARY KEY, seats INTEGER)")
model.execute("CREATE TABLE IF NOT EXISTS taken (lane INTEGER PRIMARY KEY, sequence INTEGER)")


def answer(record, outcome, **more):
    print(json.dumps({"id": record["id"], "outcome": outcome, **more}), flush=True)


def taken(lane):
    row = model.execute("SELECT sequence FROM taken WHERE lane = ?", [lane]).fetchone()
    return row[0] if row else 0


def apply(record):
    booking = record["payload"]
    model.execute("BEGIN IMMEDIATE")
    model.execute(
        "INSERT INTO total VALUES (?, ?)"
        " ON CONFLICT (customer) DO UPDATE SET seats = seats + excluded.seats",
        [booking["customer"], booking["seats"]],
    )
    model.execute("INSERT OR REPLACE INTO taken VALUES (?, ?)", [record["lane"], record["sequence"]])
    model.execute("COMMIT")


for line in sys.stdin.buffer:
    record = json.loads(line)
    try:
        if record["sequence"] > taken(record["lane"]):
            apply(record)
        answer(record, "done")
    except (KeyError, TypeError) as missing:  # it will never work as it is
        if model.in_transaction:
            model.execute("ROLLBACK")
        answer(record, "poison", reason=f"no booking: {missing!r}")
    except sqlite3.OperationalError as busy:  # it may work later
        if model.in_transaction:
            model.execute("ROLLBACK")
        answer(record, "retry", reason=str(busy), after=1)
