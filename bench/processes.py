"""What a measuring script starts: a private PostgreSQL, sessions of psql, relays, stands. Each ends with its block, however
that ends, and says in a sentence what is missing."""
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SQL = ROOT / "sql" / "bench"
STOP_SECONDS = 30
TICKS = os.sysconf("SC_CLK_TCK")


def fail(what):
    raise SystemExit(f"bench/{Path(sys.argv[0]).name}: {what}")


PORTS = itertools.count(10_000 + os.getpid() % 9_000)


def free_port():
    """Below those that the system gives to clients, so that nobody takes it before the server does; never the same twice."""
    for port in PORTS:
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    return fail("no port is free on 127.0.0.1")


def end_on_sigterm():
    """As after Ctrl-C: every block is left, so nothing goes on after a script that was asked to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def program_at(path):
    """Its absolute path."""
    found = Path(path).resolve()
    if not os.access(found, os.X_OK):
        fail(f"there is no program {found}: ./run build release makes build/release/seriatim")
    return str(found)


def has_target(program, target):
    """Does the build folder that `program` is in know `target`?"""
    known = subprocess.run(["cmake", "--build", str(Path(program).parent), "--target", "help"], capture_output=True, text=True, check=True)
    return any(line.split(":")[0] == target for line in known.stdout.splitlines())


def built(program, target):
    """The program that cmake calls `target`, from the build folder that `program` is in."""
    folder = Path(program).parent
    done = subprocess.run(["cmake", "--build", str(folder), "--target", target], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        fail(f"{target} could not be built in {folder}; cmake says above why")
    return str(folder / target)


def statement(name, **values):
    """The text of sql/bench/scripts/NAME.sql, with what is put in the place of each {word}."""
    text = (SQL / "scripts" / f"{name}.sql").read_text()
    for word, value in values.items():
        text = text.replace("{" + word + "}", str(value))
    return text


def processor_seconds(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:  # it has just ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def status(pid, *names):
    """Numbers of /proc/PID/status; 0 for one that is not there."""
    try:
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except FileNotFoundError:  # a backend that has just ended
        return [0] * len(names)
    return [int(lines.get(name, "0").split()[0]) for name in names]


def binaries():
    chosen = os.environ.get("SERIATIM_POSTGRES_BIN")
    if chosen and (Path(chosen) / "initdb").exists():
        return Path(chosen)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if chosen or not found:
        fail(f"no initdb in {chosen or '/usr/lib/postgresql/*/bin'}: install the package postgresql, or set SERIATIM_POSTGRES_BIN")
    return found[-1]


class Child:
    """A process that is ended by SIGTERM, or by the end of its standard input if that is a pipe."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen([str(word) for word in command], text=True, **options)

    @property
    def pid(self):
        return self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        try:
            if self.process.stdin:
                self.process.stdin.close()
            else:
                self.process.terminate()
        except BrokenPipeError:  # it ended before it read all
            pass
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Stand(Child):
    """A receiver or a proxy of bench_stand."""

    def __init__(self, program, *words):
        super().__init__([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = self.process.stdout.readline()
        if not said:
            fail(f"bench_stand {' '.join(map(str, words))} ended before it named its port")
        self.port = int(said)


class Relay(Child):
    def __init__(self, program, config, log=None):
        super().__init__([program, "run", "--config", config], stdout=subprocess.DEVNULL, stderr=log)


class Psql(Child):
    """One session, sent statements whenever there are some."""

    def __init__(self, server):
        super().__init__([server.bin / "psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, text):
        """The line that is answered; the text has to ask for exactly one."""
        try:
            print(text, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            fail("a session of psql ended before its answer")
        return answer.strip()


class Server:
    """As `seriatim bench` starts its own, with further settings."""

    def __init__(self, *settings):
        self.settings = ["max_wal_size=8GB", "checkpoint_timeout=1h", "listen_addresses=127.0.0.1", *settings]
        self.bin = binaries()
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.owner = {}

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="seriatim-bench-"))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        self.folder.chmod(0o755)
        if os.getuid() == 0:  # PostgreSQL does not run as root
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.owner = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self.run("initdb", "-D", "data", "-A", "trust", "-U", "postgres")
        settings = " ".join(f"-c {setting}" for setting in self.settings)
        self.run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", f"-p {self.port} -k {self.folder} {settings}", "start")

    def __exit__(self, *_):
        try:
            if (self.folder / "data" / "postmaster.pid").exists():
                self.run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, tool, *arguments):
        done = subprocess.run([str(self.bin / tool), *arguments], cwd=self.folder, check=False, stdout=subprocess.DEVNULL, **self.owner)
        if done.returncode != 0:
            log = self.folder / "log"
            fail(f"{tool} ended with {done.returncode}: {log.read_text()[-500:] if log.exists() else 'it says above why'}")

    def sql(self, text):
        done = subprocess.run([str(self.bin / "psql"), "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", self.url], input=text, text=True,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            fail("psql refused a statement; it says above why")
        return done.stdout.strip()

    def pgbench(self, script, *options, url=None):
        """What pgbench says of a script that it ran again and again."""
        file = self.folder / "statement.sql"
        file.write_text(script)
        return subprocess.run([str(self.bin / "pgbench"), "-n", *map(str, options), "-f", str(file), url or self.url], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout

    def init_schema(self, program):
        subprocess.run([program, "init"], env={**os.environ, "DATABASE_URL": self.url}, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def processor_seconds(self):
        """Of the postmaster's children that are there now: sessions that ended are not in it."""
        postmaster = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        return sum(processor_seconds(pid) for pid in children)
