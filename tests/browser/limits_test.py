"""How the page bears many lanes and a long day, and what axe-core has to say about it."""
import json
import os
import subprocess
import unittest

from browser import ConsoleTest
from stand import ROOT, TOKEN, wait_for

LANES, ROWS = 1024, 1_000_000
PAINTED_MS = 2_000
PAGE_BYTES = 80 * 1024
SNAPSHOTS = 10_000
HEAP_GROWTH = 1.2

FEED = """
const [snapshots, done] = arguments;
const folder = document.querySelector("script[src]").getAttribute("src").replace("main.js", "");
import(folder + "store.js").then(async ({ state, take, drawNow }) => {
  const text = JSON.stringify(state.status);
  for (let number = 1; number <= snapshots; ++number) {
    const status = JSON.parse(text);
    status.server_now = status.looked_at = new Date(Date.now() + number * 1000).toISOString();
    for (const lane of status.lanes) {
      lane.sequence += number;
      lane.lag_records = number % 7;
      lane.state = number % 50 ? "running" : "halted";
      lane.row = number % 50 ? null : String(number);
      lane.stall = number % 50 ? null : "halted";
    }
    take(status);
    drawNow();
    if (number % 500 === 0) await new Promise((wake) => setTimeout(wake));
  }
  done(null);
}, (error) => done(String(error)));
"""


class Limits(ConsoleTest):
    def heap(self, window):
        window.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return window.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]

    def test_all_files_of_the_page_together_are_small(self):
        relay = self.relay(self.halted("small"))
        window = self.logged_in(relay)
        sizes = window.run("return performance.getEntriesByType('resource').filter((one) => one.name.includes('/assets/')).map((one) => one.decodedBodySize)")
        self.assertGreater(len(sizes), 10)
        self.assertLessEqual(sum(sizes), PAGE_BYTES)

    def test_the_heap_stays_flat_over_many_snapshots(self):
        relay = self.relay(self.halted("long_day"))
        window = self.logged_in(relay)
        window.find(self.card("long_day"))
        window.driver.set_script_timeout(120)
        self.assertIsNone(window.driver.execute_async_script(FEED, SNAPSHOTS // 2))  # what the engine compiles is there by then
        before = self.heap(window)
        self.assertIsNone(window.driver.execute_async_script(FEED, SNAPSHOTS))
        after = self.heap(window)
        self.assertLess(after, before * HEAP_GROWTH, f"{before} bytes became {after}")

    def test_many_lanes_and_a_million_rows_are_painted_in_time(self):
        self.stand.table("many")
        self.stand.table("none")
        self.stand.sql(f"INSERT INTO many (customer) SELECT 'c' || n FROM generate_series(1, {ROWS}) n; ANALYZE many")
        relay = self.relay(self.stand.process("many", "many", LANES), self.stand.process("none", "none"), only=["none"])
        window = self.window()
        window.log_in(relay.url, TOKEN)
        wait_for(lambda: "1 025 lanes" in window.driver.title.replace("\u202f", " ") or "1025 lanes" in window.driver.title, "all lanes in the verdict")
        window.open(relay.url + "/")
        painted = wait_for(lambda: window.run("return performance.getEntriesByName('painted').map((mark) => mark.startTime)[0]"), "the first page")
        self.assertLess(painted, PAINTED_MS)
        self.assertLessEqual(len(window.driver.find_elements("css selector", "article.card")), 20)

    def axe(self):
        """The text of axe.min.js, or a skip that says what is missing."""
        done = subprocess.run([str(ROOT / "tests" / "fetch-axe")], text=True, capture_output=True, check=False)
        if done.returncode:
            if os.environ.get("SERIATIM_NEEDS_AXE"):
                self.fail(done.stderr)
            self.skipTest(f"axe-core is not here: {done.stderr.strip()}")
        with open(done.stdout.strip(), encoding="utf-8") as script:
            return script.read()

    def judge(self, window, axe, where):
        """No finding of axe-core on what is shown now."""
        window.run(axe + "; window.axe = axe;")
        found = window.driver.execute_async_script("const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((all) => done(all.violations), (error) => done([String(error)]));")
        short = [(one["id"], [node["target"] for node in one["nodes"]][:3]) if isinstance(one, dict) else one for one in found]
        self.assertEqual(short, [], f"{where}: {json.dumps(short)}")

    def test_axe_finds_nothing_in_light_and_dark(self):
        axe = self.axe()
        self.stand.table("parked_axe")
        self.stand.receiver.refuse(1, process="parked_axe")
        self.stand.insert("parked_axe", count=3)
        relay = self.relay(self.halted("axe"), self.stand.process("parked_axe", "parked_axe", more='on_poison = "park_key"\n'))
        window = self.window()
        window.open(relay.url + "/login")
        window.find("#token")
        self.judge(window, axe, "login")
        window.log_in(relay.url, TOKEN)
        for dark in (False, True):
            window.media(dark=dark)
            for path, sign in (("/", "number not in service"), ("/p/axe", "number not in service"), ("/p/axe?tab=ahead", "settled"), ("/p/axe?tab=history", "Rows a minute"),
                               ("/p/parked_axe?tab=parked", "Key c1"), ("/p/axe/row?id=3", "Payload"), ("/journal", "halt"), ("/instances", "Who holds what"), ("/checks", "PostgreSQL")):
                window.go(path)
                window.wait_text(sign)
                self.judge(window, axe, f"{path}, {'dark' if dark else 'light'}")
            window.go("/")
            window.press("Set aside…")
            window.find("dialog textarea")
            self.judge(window, axe, "the dialog")
            window.press("Cancel", "dialog")


if __name__ == "__main__":
    unittest.main(verbosity=2)
