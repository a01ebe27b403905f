"""docs/performance.md is what the figures next to it give, and a step measured anew changes its own part of it alone."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
import page  # noqa: E402
from figures import Figures  # noqa: E402

RUN = {"version": "1.0.0 (aaaaaaa)", "build": "preset release", "machine": "a machine", "quick": False, "load_before": 0.2}


def figure(name, rate, **settings):
    measured = {what: {"median": 1.0, "min": 0.5, "max": 2.0} for what in ("cpu_s_per_100k_rows", "relay_rss_mb", "fence_read_us")}
    return {"name": name, "rows_per_s": rate, "min": rate, "max": rate, "limit": "a loop", "limit_rows_per_s": 2 * rate, "limit_min": 2 * rate,
            "limit_max": 2 * rate, "ratio": 0.5, "ratio_min": 0.4, "ratio_max": 0.6, "measured": measured,
            "settings": {"read_ahead": "true", "rows": "10", "partitions": "1", "idle_connections": "1", **settings}}


def report(*figures):
    return {"server_version": "17.1", "figures": list(figures)}


def keep(figures, step, rate, **run):
    """A second after what is there: kept within one second, they would be as old as each other."""
    figures.keep(step, report(figure(step, rate)), {**RUN, **run})
    kept = json.loads(figures.path(step).read_text())
    kept["about"]["taken"] = f"2026-01-01 00:00:0{len(figures.steps())}"
    figures.path(step).write_text(json.dumps(kept))


def sections(text):
    """{heading: what is below it}"""
    parts = ("\n" + text).split("\n#")
    return {part.split("\n", 1)[0].strip("# "): part for part in parts[1:]}


class PageTest(unittest.TestCase):
    def setUp(self):
        self.docs = Path(tempfile.mkdtemp(prefix="seriatim-page-"))
        self.addCleanup(shutil.rmtree, self.docs)
        self.figures = Figures(self.docs)

    def keep(self, step, rate, **run):
        keep(self.figures, step, rate, **run)

    def written(self):
        page.write(self.docs, ROOT / "bench" / "profiles.md")
        return (self.docs / "performance.md").read_text()

    def refused(self, act):
        with self.assertRaises(SystemExit) as ended:
            act()
        return str(ended.exception)

    def test_the_page_in_the_repository_is_what_its_figures_give(self):
        committed = ROOT / "docs" / "performance"
        shutil.copytree(committed / "figures", self.docs / "performance" / "figures")
        self.assertEqual(self.written(), (ROOT / "docs" / "performance.md").read_text(), "bench/run --page writes it")
        plots = {path.name: path.read_text() for path in committed.glob("*.svg")}
        self.assertEqual({path.name: path.read_text() for path in (self.docs / "performance").glob("*.svg")}, plots)

    def test_where_all_is_of_one_run_no_section_tells_a_run(self):
        for step in ("null", "kafka", "growth-partitions"):
            self.keep(step, 1000.0)
        self.assertNotIn("\n*", self.written().split("## Profiles")[0])

    def test_a_section_of_another_run_says_of_which(self):
        for other, said in (({"version": "1.0.0 (bbbbbbb)"}, "*Of version 1.0.0 (bbbbbbb), preset release, 2026-01-01.*"),
                            ({"quick": True}, "*Of version 1.0.0 (aaaaaaa), at small sizes, preset release, 2026-01-01.*"),
                            ({"machine": "an older one"}, "2026-01-01, on an older one, PostgreSQL 17.1.*"),
                            ({"load_before": 3.5}, "2026-01-01, the machine busy with other work (load average 3.5).*")):
            with self.subTest(other=other):
                shutil.rmtree(self.figures.folder, ignore_errors=True)
                self.keep("growth-partitions", 1000.0, **other)
                self.keep("null", 1000.0)
                found = sections(self.written())
                self.assertIn(said, found["partitions"])
                self.assertNotIn("\n*", found["Throughput of one lane, in order"])
                self.assertIn("Machine: a machine. PostgreSQL 17.1", found["Performance"])

    def test_a_section_of_several_steps_names_those_of_another_run(self):
        self.keep("kafka", 1000.0, version="1.0.0 (bbbbbbb)")
        self.keep("sql", 1000.0, version="1.0.0 (bbbbbbb)")
        self.keep("null", 1000.0)
        self.assertIn("\n*`kafka`, `sql`: of version 1.0.0 (bbbbbbb), preset release, 2026-01-01.*\n", self.written())

    def judged(self, step, *figures):
        """The lines of the page that show these figures."""
        self.figures.keep(step, report(*figures), RUN)
        return [line for line in self.written().split("## Profiles")[0].split("\n") if line.startswith("| ")]

    def test_each_target_of_a_drain_is_judged_by_itself(self):
        for ratio, cpu, said in ((0.7, 0.9, "≥ 0.60: met; CPU ≤ 1: met"), (0.7, 1.1, "≥ 0.60: met; CPU ≤ 1: **missed**"),
                                 (0.5, 0.9, "≥ 0.60: **missed**; CPU ≤ 1: met")):
            with self.subTest(ratio=ratio, cpu=cpu):
                one = {**figure("null.id", 1000.0), "ratio": ratio}
                one["measured"]["cpu_s_per_100k_rows"]["median"] = cpu
                self.assertIn(f"| {said} |", self.judged("null", one)[-1])

    def test_a_drain_that_shows_what_reading_ahead_is_worth_has_no_target(self):
        line = self.judged("null-no-read-ahead", figure("null.id", 1000.0, read_ahead="false"))[-1]
        self.assertIn("| null.id, read_ahead off |", line)
        self.assertNotIn("missed", line)

    def test_what_a_lane_at_rest_takes_is_that_of_relay_and_backend_together(self):
        for backend, said in ((0.05, "CPU of both ≤ 0.2: met"), (0.15, "CPU of both ≤ 0.2: **missed**")):
            with self.subTest(backend=backend):
                one = figure("idle.1", 0.0)
                for what, value in (("relay_cpu_percent_per_lane", 0.1), ("backend_cpu_percent_per_lane", backend), ("statements_per_s_per_lane", 0.8)):
                    one["measured"][what] = {"median": value, "min": value, "max": value}
                self.assertIn(f"| {said}; statements ≤ 1: met;", self.judged("idle", one)[-1])

    def test_growth_is_judged_by_the_ratio_and_by_the_least_look_at_the_locks(self):
        for ratio, fence, said in ((0.46, 0.54, "rows/s -50 %; ratio -8 %: met; fence +8 %: met"), (0.44, 0.54, "ratio -12 %: **missed**; fence +8 %: met"),
                                   (0.46, 0.56, "ratio -8 %: met; fence +12 %: **missed**")):
            with self.subTest(ratio=ratio, fence=fence):
                grown = {**figure("null.id", 500.0, partitions="64"), "ratio": ratio}
                grown["measured"]["fence_read_us"]["min"] = fence
                first, last = self.judged("growth-partitions", figure("null.id", 1000.0), grown)[-2:]
                self.assertTrue(first.endswith("| – |"))
                self.assertTrue(last.endswith(f"{said} |"), last)

    def test_a_note_names_the_figures_it_is_of(self):
        self.keep("null", 1000.0, note="the disk was slow")
        self.assertIn("; the disk was slow.*", sections(self.written())["Throughput of one lane, in order"])

    def test_a_plot_of_no_section_goes(self):
        self.keep("null", 1000.0)
        (self.docs / "performance" / "peers.svg").write_text("old")
        self.written()
        self.assertEqual([path.name for path in (self.docs / "performance").glob("*.svg")], ["throughput.svg"])

    def test_broken_figures_are_named(self):
        self.keep("null", 1000.0)
        for text, why in (("{\n \"about\": {", "is not JSON: Expecting"), ("[]", "does not say in `about`"), ("{}", "does not say in `about`"),
                          ('{"about": {"version": "1"}}', "lacks about.build, about.machine"),
                          (json.dumps({"about": {**RUN, "load_after": 1, "taken": "2026"}}), "lacks server_version"),
                          (json.dumps({"about": {**RUN, "load_after": 1, "taken": "2026"}, "server_version": "17", "figures": [{}]}),
                           "has no 'settings'")):
            with self.subTest(why=why):
                self.figures.path("growth-waiting").write_text(text)
                said = self.refused(self.written)
                self.assertIn(str(self.docs / "performance" / "figures" / "growth-waiting.json"), said)
                self.assertIn(why, said)
                self.assertIn("bench/run --only ", said)
                self.assertIn("growth-waiting", said.split("--only")[1])

    def test_no_figures_at_all_are_no_page(self):
        self.assertIn("there are no figures in", self.refused(self.written))


class RunTest(unittest.TestCase):
    """bench/run itself, with a program that prints what it is given."""

    def setUp(self):
        self.docs = Path(tempfile.mkdtemp(prefix="seriatim-page-"))
        self.addCleanup(shutil.rmtree, self.docs)
        self.program = self.docs / "program"
        said = json.dumps(report(figure("kafka", 4321.0)))
        self.program.write_text(f"#!/bin/sh\n[ \"$1\" = version ] && echo seriatim 9.9.9 || echo '{said}'\n")
        self.program.chmod(0o755)

    def run_bench(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(ROOT / "bench" / "run"), "--program", str(self.program), "--docs", str(self.docs), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_a_step_measured_anew_replaces_its_own_figures_alone(self):
        figures = Figures(self.docs)
        for step in ("null", "kafka", "growth-partitions"):
            keep(figures, step, 1000.0, version="0.0.1 (ccccccc)")
        before = {step: figures.path(step).read_text() for step in figures.steps()}
        done = self.run_bench("--quick", "--only", "kafka")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = {step: figures.path(step).read_text() for step in figures.steps()}
        self.assertEqual({step for step in after if after[step] != before.get(step)}, {"kafka"})
        about = figures.of("kafka")["about"]
        self.assertTrue(about["version"].startswith("9.9.9 ("))
        self.assertTrue(about["quick"])
        self.assertEqual(about["build"], "another build, given by --program")
        text = (self.docs / "performance.md").read_text()
        self.assertIn("| kafka | 4 321 (", text)
        self.assertIn("\n*`null`: of version 0.0.1 (ccccccc), preset release, ", text)
        self.assertIn("\n*Of version 0.0.1 (ccccccc), preset release, ", sections(text)["partitions"])

    def test_a_step_that_is_none_is_refused_before_anything_is_measured(self):
        done = self.run_bench("--only", "kafka,kafkaesque")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no step kafkaesque; steps are null, ", done.stderr)
        self.assertIn(", peers", done.stderr)
        self.assertEqual(Figures(self.docs).steps(), [])

    def test_the_list_names_each_step_and_study_with_a_line_about_it(self):
        done = self.run_bench("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        about = dict(line.split(None, 1) for line in done.stdout.splitlines())
        self.assertEqual(about["null"], "seriatim bench null --rows 1000000 --repeats 5")
        for name in ("peers", "soak", "model", "limits", "takeover", "handlers"):
            self.assertIn(" ", about[name])
        self.assertEqual(Figures(self.docs).steps(), [])


if __name__ == "__main__":
    unittest.main()
