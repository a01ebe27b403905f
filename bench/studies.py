"""What a maintainer measures before a release, and CI never runs: `bench/run --only NAME`.

Each is given the program, whether its sizes are to be small, and how to say what it is at. It prints what it found; what it
returns, if anything, is kept with the figures of the page.
"""
import subprocess

import acts
import limits
import model
import observing
import soak
from processes import built, has_target

SKIPPED = 77  # what a test program ends with if its server is not installed


def takeover(program, _quick, _tell):
    subprocess.run([built(program, "takeover_bench")], check=True)


def handlers(program, _quick, say):
    for kind in ("exec", "redis", "rabbitmq", "nats"):
        if not has_target(program, f"{kind}_bench"):
            say(f"{kind} is left out: its client library is not here")
            continue
        ended = subprocess.run([built(program, f"{kind}_bench")], check=False).returncode
        if ended == SKIPPED:
            say(f"{kind} is left out: it says above why")
        elif ended != 0:
            raise SystemExit(f"bench/run: the bench of {kind} ended with {ended}")


def post(program, _quick, _tell):
    subprocess.run([built(program, "post_bench")], check=True)


STUDIES = {
    "soak": ("half an hour under load: is memory flat, does every row come once and in order (on the page)", soak.measure),
    "model": ("rows a second of 1 to 64 lanes next to the capacity model (docs/scaling.md)", model.measure),
    "limits": ("what the server limits: commits, NOTIFY, WAL and transaction ids a row (docs/scaling.md)", limits.measure),
    "observing": ("what a scrape, alerts and 1000 silent connections cost, and a lane at rest (docs/monitoring.md)", observing.measure),
    "acts": ("how soon `seriatim pause` has its turn between quick rows (docs/operations.md)", acts.measure),
    "takeover": ("how soon another relay goes on, for each way to lose the holder (docs/operations.md)", takeover),
    "post": ("one POST over a kept connection, plain and with TLS: processor time and time by the clock", post),
    "handlers": ("exec, redis, rabbitmq, nats: the batch form next to the client library's own loop (handlers/*/README.md)", handlers),
}
