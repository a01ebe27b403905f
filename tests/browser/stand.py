"""What the browser tests run against: a private PostgreSQL, relays with a console, and a receiver that answers as a test
says. All of it ends with its block."""
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from processes import Child, Psql, Server, free_port  # noqa: E402,F401

PROGRAM = os.environ.get("SERIATIM_PROGRAM", str(ROOT / "build" / "dev" / "seriatim"))
OUTPUT = Path(os.environ.get("SERIATIM_BROWSER_OUTPUT", str(ROOT / "build" / "browser")))
TOKEN = "token-of-alice-0123456789"
VIEWER = "token-of-vera-0123456789"

TABLE = """
CREATE TABLE {table} (id bigserial PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), customer text,
                      event_type text, payload jsonb NOT NULL DEFAULT '{{}}', headers jsonb);
CREATE INDEX ON {table} (created_at, id)"""


def wait_for(fact, what, seconds=20):
    """What `fact` returns once it is true."""
    end = time.monotonic() + seconds
    while True:
        seen = fact()
        if seen:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Receiver:
    """Takes the rows of http handlers, and answers each as it was set to, else with 200."""

    def __init__(self):
        self.refused, self.taken, self.lock = {}, [], threading.Lock()
        self.page = ""  # what a GET shows
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, body = receiver.answer(tuple(self.headers["Idempotency-Key"].split(":", 1)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                body = receiver.page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/take"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def refuse(self, row, status=422, body="number not in service", process=None):
        """This row is answered like this until `accept`."""
        with self.lock:
            self.refused[process, str(row)] = (status, body.encode())

    def accept(self, row, process=None):
        with self.lock:
            self.refused.pop((process, str(row)), None)

    def answer(self, row):
        with self.lock:
            if row in self.refused:
                return self.refused[row]
            self.taken.append(row)
            return 200, b""

    def of(self, process):
        """Ids of a process's rows that were answered with 200, in order."""
        with self.lock:
            return [row for name, row in self.taken if name == process]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Relay(Child):
    """`seriatim run` with a console at `url`."""

    def __init__(self, config, url, log, only=()):
        self.url, self.config = url, config
        self.log = open(log, "w", encoding="utf-8")
        super().__init__([PROGRAM, "run", "--config", config, *only], stdout=subprocess.DEVNULL, stderr=self.log)

    def again(self):
        """The same relay, started once more after its end."""
        return Relay(self.config, self.url, self.log.name + ".again")

    def wait_until_served(self):
        def served():
            assert self.process.poll() is None, f"the relay ended: {Path(self.log.name).read_text(encoding='utf-8')[-800:]}"
            try:
                with urllib.request.urlopen(self.url + "/api/v1/me", timeout=2) as answer:
                    return answer.status == 200
            except urllib.error.HTTPError:
                return True
            except OSError:
                return False
        wait_for(served, f"{self.url} answers")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_):
        self.end()
        self.log.close()


class Stand:
    """One PostgreSQL for all tests of a file; each test makes tables and processes of its own names."""

    def __init__(self):
        self.server = Server("max_prepared_transactions=8", "fsync=off")
        self.receiver = Receiver()
        self.relays = 0

    def __enter__(self):
        self.server.__enter__()
        self.server.init_schema(PROGRAM)
        return self

    def __exit__(self, *_):
        self.receiver.close()
        self.server.__exit__(*_)

    def sql(self, text):
        return self.server.sql(text)

    def table(self, name):
        self.sql(TABLE.format(table=name))

    def insert(self, table, customer="c1", count=1, payload="{}", event_type="booked"):
        """Rows of one customer; their ids."""
        return self.sql(f"INSERT INTO {table} (customer, event_type, payload) SELECT {quoted(customer)}, {quoted(event_type)}, "
                        f"{quoted(payload)} FROM generate_series(1, {count}) RETURNING id").split()

    def process(self, name, table, lanes=1, more="", more_source=""):
        """A [[process]] that posts to the receiver."""
        return (f'[[process]]\nname = {json.dumps(name)}\nlanes = {lanes}\nbackoff.first = "20ms"\nbackoff.max = "100ms"\n{more}'
                f'[process.source]\ntable = "{table}"\nkey = "customer"\n{more_source}'
                f'[process.handler]\nkind = "http"\nurl = "{self.receiver.url}"\nallow_private = true\n')

    @contextmanager
    def relay(self, *processes, console="", tokens=True, only=()):
        """A relay that runs these, or only those of these names, and its console. With tokens, alice is operator and vera viewer."""
        self.relays += 1
        port = free_port()
        users = "".join(f'[[console.user]]\nname = "{name}"\nrole = "{role}"\ntoken = "{token}"\n'
                        for name, role, token in (("alice", "operator", TOKEN), ("vera", "viewer", VIEWER))) if tokens else ""
        config = self.server.folder / f"relay{self.relays}.toml"
        config.write_text(f'[database]\nurl = "{self.server.url}"\n[console]\nlisten = "127.0.0.1:{port}"\n{console}\n{users}' + "".join(processes),
                          encoding="utf-8")
        OUTPUT.mkdir(parents=True, exist_ok=True)
        with Relay(config, f"http://127.0.0.1:{port}", OUTPUT / f"relay{self.relays}.log", only) as relay:
            relay.wait_until_served()
            yield relay

    def command(self, relay, *words):
        """A verb of the command line, with the relay's configuration: (exit code, output)."""
        done = subprocess.run([PROGRAM, *words, "--config", str(relay.config)], text=True, capture_output=True, check=False)
        return done.returncode, done.stdout + done.stderr


def quoted(text):
    return "'" + text.replace("'", "''") + "'"
