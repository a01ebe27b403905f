"""The figures of docs/performance.md: performance/figures/STEP.json below the folder of the page, one file a step.

Each is what the step said, and `about`: the run it is of. Steps are measured at different times, so each says for itself
which version it shows, of which size, on which machine; `note`, where somebody put one, is shown with them.
"""
import json
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

from processes import ROOT, fail

RELEASE = ROOT / "build" / "release" / "seriatim"
ABOUT = ("version", "build", "machine", "quick", "load_before", "load_after", "taken")


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 1024 // 1024
    return f"{os.cpu_count()} × {model}, {memory} GB, Linux {platform.release()}"


def commit_of_sources():
    """Empty without git: a newcomer's machine need not have it."""
    if shutil.which("git") is None:
        return ""
    return subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def run_of(program, quick):
    """What all steps of a run share: taken down as it begins, for the load is then that of others."""
    version = subprocess.run([program, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    commit = commit_of_sources()
    return {"version": f"{version.split()[-1]} ({commit or 'no commit'})",
            "build": "preset release" if Path(program) == RELEASE else "another build, given by --program",
            "machine": machine(), "quick": quick, "load_before": round(os.getloadavg()[0], 1)}


class Figures:
    def __init__(self, docs):
        self.folder = Path(docs) / "performance" / "figures"

    def path(self, step):
        return self.folder / f"{step}.json"

    def keep(self, step, report, run):
        """In the place of what was measured of this step before; no other step is touched."""
        about = {**run, "load_after": round(os.getloadavg()[0], 1), "taken": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path(step).write_text(json.dumps({"about": about, **report}, indent=1, ensure_ascii=False) + "\n")

    def of(self, step):
        """None where the step was never measured."""
        path = self.path(step)
        if not path.exists():
            return None
        try:
            report = json.loads(path.read_text())
            missing = [f"about.{name}" for name in ABOUT if name not in report["about"]]
        except ValueError as error:
            self.refuse(f"is not JSON: {error}", step)
        except (KeyError, TypeError):
            self.refuse("does not say in `about` which run it is of", step)
        if "server_version" not in report:
            missing.append("server_version")
        if missing:
            self.refuse(f"lacks {', '.join(missing)}", step)
        return report

    def refuse(self, why, *steps):
        """One of these is not as it has to be."""
        fail(f"{' or '.join(str(self.path(step)) for step in steps)} {why}. Take it back from git, or measure anew: "
             f"bench/run --only {','.join(steps)}")

    def steps(self):
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def newest(self):
        """The report measured last: the page is of its run."""
        reports = [self.of(step) for step in self.steps()]
        if not reports:
            fail(f"there are no figures in {self.folder}: bench/run measures them")
        return max(reports, key=lambda report: report["about"]["taken"])
