"""What it costs to be watched.

Relays whose handler does nothing, in turn plain and watched: a scrape of /metrics each second, alerts, a history; once more with 1000
connections to the endpoint that send nothing. Then ten open windows of the console, against a console that nobody opened; and an
alert to a pager that never answers, against one that a command takes. At last a lane at rest: statements and processor time a second,
with nobody watching and with a scrape every 15 s. docs/monitoring.md has the figures.
"""
import re
import socket
import statistics
import threading
import time
import urllib.request

from processes import Psql, Relay, Server, fail, processor_seconds, statement

PORT, PAGER_PORT = 18_642, 18_643
CONSOLE = f'[console]\nlisten = "127.0.0.1:{PORT}"\n'
ALERTS = '[alerts]\ncommand = ["/bin/true"]\n'
HANGING_ALERTS = f'[alerts]\nurl = "http://127.0.0.1:{PAGER_PORT}/"\nformat = "slack"\n'
CONFIG = """
[database]
url = "{url}"
[log]
level = "error"
{more}
[[process]]
name = "{name}"
commit_every = 100
[process.source]
table = "public.t"
order_by = "id"
[process.handler]
kind = "log"
file = "/dev/null"
"""
HALTS = """
[[process]]
name = "halts"
[process.source]
table = "public.one_row"
[process.handler]
kind = "http"
url = "http://127.0.0.1:9/"
allow_private = true
body = "{{payload.missing}}"
"""
SLOW, WINDOWS, SILENT_SECONDS = 1_000, 10, 5
EXECUTED = re.compile(r"LOG:  (execute|statement)")


def get(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=10) as answer:
        return answer.read()


class Watcher:
    """Scrapes each second; with `slow` connections that send nothing, and notes how long /livez takes."""

    def __init__(self, slow=0):
        self.slow, self.open, self.livez, self.ended = slow, [], [], threading.Event()
        self.renewed = 0.0
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for one in self.open:
            one.close()

    def run(self):
        while not self.ended.wait(0.05):
            try:
                get("/livez")
                break
            except OSError:
                continue
        while not self.ended.is_set():
            try:
                self.keep_slow()
                began = time.perf_counter()
                get("/livez")
                self.livez.append((time.perf_counter() - began) * 1000)
                get("/metrics")
            except OSError:  # the relay has ended
                pass
            self.ended.wait(1)

    def keep_slow(self):
        """The endpoint closes the oldest beyond its limit and the rest after 5 s, so all are opened anew then."""
        if time.monotonic() < self.renewed + SILENT_SECONDS:
            return
        self.renewed = time.monotonic()
        for one in self.open:
            one.close()
        self.open = []
        for _ in range(self.slow):
            one = socket.create_connection(("127.0.0.1", PORT), timeout=5)
            one.sendall(b"GET /metrics HTTP/1.1\r\n")
            self.open.append(one)


class Windows:
    """Open windows of the console: each reads the stream of events, and asks for the history once a minute, as the page does."""

    def __init__(self, count):
        self.events, self.ended = [0] * count, threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def run(self, number):
        while not self.ended.wait(0.05):
            try:
                get("/api/v1/processes/p/history?minutes=60")
                self.read_events(number)
            except OSError:  # the relay is not there yet, or has ended
                continue

    def read_events(self, number):
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/v1/events", timeout=20) as stream:
            minute = time.monotonic() + 60
            while not self.ended.is_set():
                line = stream.readline()
                if not line:
                    return
                self.events[number] += line.startswith(b"event:")
                if time.monotonic() > minute:
                    get("/api/v1/processes/p/history?minutes=60")
                    minute += 60


class SilentPager:
    """Accepts what calls it, and never answers."""

    def __enter__(self):
        self.calls = []
        self.server = socket.create_server(("127.0.0.1", PAGER_PORT))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        try:
            while True:
                self.calls.append(self.server.accept()[0])
        except OSError:  # closed
            pass

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join()
        for call in self.calls:
            call.close()


def rate(program, server, rows, more):
    """Rows a second of a process that never ran, and rows a second of processor time (relay and server), which other work on the
    machine disturbs less. From its first tenth to the last row: start and end are not in it."""
    server.sql(statement("drop_schema"))
    server.init_schema(program)
    config = server.folder / "rate.toml"
    config.write_text(CONFIG.format(url=server.url, more=more, name="p"))
    with Psql(server) as session, Relay(program, config) as relay:

        def reach(wanted):
            ends = time.monotonic() + 600
            while (delivered := int(session.ask(statement("rows_delivered")))) < wanted:
                if time.monotonic() > ends:
                    fail("the relay did not deliver all rows in ten minutes")
                time.sleep(0.02)
            return delivered, time.perf_counter(), processor_seconds(relay.pid) + server.processor_seconds()

        first, began, cpu_began = reach(rows // 10)
        last, ended, cpu_ended = reach(rows)
    return (last - first) / (ended - began), (last - first) / (cpu_ended - cpu_began)


def spread(ratios):
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})"


def compare(what, program, server, rows, repeats, watched, plain=""):
    """`watched` makes a rate and the times of /livez; `plain` is added to the configuration of the relay it is compared with. Pairs
    alternate which of the two comes first, so that drift favours neither."""
    ratios, of_cpu, livez = [], [], []
    for number in range(repeats):
        rates = {}
        for kind in ("plain", "watched") if number % 2 else ("watched", "plain"):
            if kind == "plain":
                rates[kind] = rate(program, server, rows, plain)
            else:
                rates[kind], times = watched()
                livez += times
        ratios.append(rates["watched"][0] / rates["plain"][0])
        of_cpu.append(rates["watched"][1] / rates["plain"][1])
    most = f"{max(livez):.0f}" if livez else ""
    print(f"| {what} | {spread(ratios)} | {spread(of_cpu)} | {most} |", flush=True)


def compare_all(program, server, rows, repeats):
    def scraped(slow):
        with Watcher(slow) as watcher:
            return rate(program, server, rows, CONSOLE + ALERTS), watcher.livez

    def unanswered():
        with SilentPager() as pager:
            reached = rate(program, server, rows, HANGING_ALERTS + HALTS)
            if not pager.calls and rows > 1_000_000:  # few rows are gone before the alert comes
                fail("no alert called the pager that never answers")
        return reached, []

    def opened():
        with Windows(WINDOWS) as windows:
            reached = rate(program, server, rows, CONSOLE)
        if not all(windows.events):
            fail("a window saw no event")
        return reached, []

    print("| ratio to a plain relay, median and range | rows a second | rows a processor second | /livez, most ms |")
    print("|---|---|---|---|")
    compare("scraped each second", program, server, rows, repeats, lambda: scraped(0))
    compare(f"scraped each second, {SLOW} silent connections", program, server, rows, repeats, lambda: scraped(SLOW))
    compare(f"{WINDOWS} open windows of the console, to a console that nobody opened", program, server, rows, repeats, opened, CONSOLE)
    compare("an alert to a pager that never answers, to one that is answered", program, server, rows, repeats, unanswered, ALERTS + HALTS)


def at_rest(program, server, seconds, scrape, more):
    """Statements a second, and the processor share of relay and server."""
    config = server.folder / "rest.toml"
    config.write_text(CONFIG.format(url=server.url, more=more, name="rest"))
    with Relay(program, config) as relay:
        deadline = time.monotonic() + 60
        while server.sql(statement("lanes_held", process="rest")) != "1":
            if time.monotonic() > deadline:
                fail("the relay did not take its lane")
        time.sleep(10)
        log = server.folder / "log"
        first, cpu = len(log.read_text(errors="replace")), processor_seconds(relay.pid) + server.processor_seconds()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(min(scrape or seconds, max(ends - time.monotonic(), 0)))
            if scrape and time.monotonic() < ends:
                get("/metrics")
        cpu = processor_seconds(relay.pid) + server.processor_seconds() - cpu
        lines = log.read_text(errors="replace")[first:].splitlines()
    by = {}
    for line in lines:
        if EXECUTED.search(line) and line.startswith("seriatim/"):
            session = line.split(" ", 1)[0]
            by[session] = by.get(session, 0) + 1
    return sum(by.values()) / seconds, cpu / seconds * 100, {name: round(n / seconds, 3) for name, n in sorted(by.items())}


def measure(program, quick, _tell):
    rows, repeats, seconds = (50_000, 2, 30) if quick else (2_000_000, 5, 200)
    with Server() as server:
        server.sql(statement("create_outbox", table="t") + statement("insert_rows", table="t", rows=rows))
        server.sql(statement("create_outbox", table="one_row") + statement("insert_rows", table="one_row", rows=1))
        compare_all(program, server, rows, repeats)
    with Server("log_statement=all", "log_line_prefix='%a '") as server:
        server.init_schema(program)
        server.sql(statement("create_outbox", table="t") + statement("create_hint", table="t"))
        print("\n| at rest | statements/s | CPU %, relay and server | by session |\n|---|---|---|---|")
        for what, scrape, more in (("plain", 0, ""), ("endpoint and alerts, nobody watches", 0, CONSOLE + ALERTS),
                                   ("the same, a scrape every 15 s", 15, CONSOLE + ALERTS)):
            rate, cpu, by = at_rest(program, server, seconds, scrape, more)
            print(f"| {what} | {rate:.2f} | {cpu:.2f} | {by} |", flush=True)
