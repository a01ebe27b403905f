"""A headless Chromium that looks at a console, and what it saw when a test fails."""
import json
import os
import shutil
import sys
import tempfile
import unittest
from urllib.parse import urlsplit

SKIPPED = 77  # as tests/support/skip.hpp has it
try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    print("SKIPPED: selenium is missing: apt-get install python3-selenium")
    sys.exit(SKIPPED)
for program in ("chromium", "chromedriver"):
    if not shutil.which(program):
        print(f"SKIPPED: {program} is missing: apt-get install chromium chromium-driver")
        sys.exit(SKIPPED)

from stand import OUTPUT, TOKEN, Stand, wait_for  # noqa: E402

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]


# Long timers of a page wait until a test lets them ring; `streams` has the signals that end its streams of events.
LONG_TIMERS = """
window.timers = new Map();
window.streams = [];
let last = 0;
const after = window.setTimeout, without = window.clearTimeout, ask = window.fetch;
window.setTimeout = (work, ms, ...rest) => {
  if (!(ms >= 20000)) return after(work, ms, ...rest);
  const id = --last;
  window.timers.set(id, { work, ms });
  return id;
};
window.clearTimeout = (id) => (window.timers.delete(id), without(id));
window.fetch = (path, options) => {
  if (String(path).endsWith("/events")) window.streams.push(options.signal);
  return ask(path, options);
};
window.ring = (ms) => {
  const due = [...window.timers].filter(([, timer]) => timer.ms === ms);
  for (const [id, timer] of due) { window.timers.delete(id); timer.work(); }
  return due.length;
};
window.hide = (hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
};
"""


class Browser:
    """One window. `text` and `find` wait for what they look for."""

    def __init__(self, *flags, size=(1280, 900)):
        self.folder = tempfile.mkdtemp(prefix="seriatim-browser-")
        options = Options()
        options.binary_location = shutil.which("chromium")
        for flag in [*FLAGS, *flags, f"--user-data-dir={self.folder}", f"--window-size={size[0]},{size[1]}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(20)
        self.console = []

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    def clear(self):
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.get("about:blank")
        self.messages()
        self.console = []

    def hold_long_timers(self):
        """In the pages that are opened from now on. For a window of a test's own."""
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "(() => {" + LONG_TIMERS + "})()"})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, url):
        self.driver.get(url)

    def go(self, path):
        """As by a link of the page, so that the tab keeps its token."""
        self.run("const a = document.createElement('a'); a.href = arguments[0]; document.body.append(a); a.click(); a.remove();", path)

    def log_in(self, url, token):
        """The cookie of a user, and the token in the tab."""
        self.open(url + "/login")
        self.type("Token", token)
        self.press("Log in")
        wait_for(lambda: urlsplit(self.driver.current_url).path != "/login", "the login goes on to the first page")
        self.find("h1")

    def find(self, css, seconds=20):
        return wait_for(lambda: self.seen(css), f"an element {css}", seconds)

    def seen(self, css):
        """The first element on show that matches, or None."""
        try:
            return next((one for one in self.driver.find_elements(By.CSS_SELECTOR, css) if one.is_displayed()), None)
        except StaleElementReferenceException:
            return None

    def text(self, css="main"):
        try:
            return " ".join(one.text for one in self.driver.find_elements(By.CSS_SELECTOR, css))
        except StaleElementReferenceException:
            return ""

    def wait_text(self, text, css="main", seconds=20):
        wait_for(lambda: text in self.text(css), f"{text!r} in {css}", seconds)

    def wait_gone(self, css, seconds=20):
        wait_for(lambda: self.seen(css) is None, f"no more {css}", seconds)

    def wait_halted(self, card):
        """Before that nobody may hold the lane: the page is there before the relay has claimed it."""
        self.button("Retry", card)

    def button(self, name, within="body"):
        """The button on show with this text or label."""
        def look():
            for one in self.driver.find_elements(By.CSS_SELECTOR, f"{within} button"):
                try:
                    if one.is_displayed() and name in (one.text, one.get_attribute("aria-label")):
                        return one
                except StaleElementReferenceException:
                    pass
            return None
        return wait_for(look, f"a button {name!r} in {within}")

    def press(self, name, within="body"):
        self.click(lambda: self.button(name, within))

    def follow(self, css):
        """The link that matches."""
        self.click(lambda: self.find(css))

    def click(self, find):
        """The page may be painted anew between the search and the click, which then has not happened."""
        def clicked():
            try:
                find().click()
            except StaleElementReferenceException:
                return False
            return True
        wait_for(clicked, "a click on what is on the page")

    def type(self, label, text, within="body"):
        """Into the field with this label."""
        def look():
            for one in self.driver.find_elements(By.CSS_SELECTOR, f"{within} label"):
                if one.is_displayed() and one.text == label:
                    return self.driver.find_element(By.ID, one.get_attribute("for"))
            return None
        field = wait_for(look, f"a field {label!r}")
        field.clear()
        field.send_keys(text)

    def keys(self, text):
        ActionChains(self.driver).send_keys(text).perform()

    def messages(self):
        """All that the console was told so far."""
        self.console += [entry["message"] for entry in self.driver.get_log("browser")]
        return self.console

    def screenshot(self, path):
        self.driver.save_screenshot(str(path))

    def media(self, **features):
        """dark=True, width=390 …"""
        if "dark" in features:
            value = "dark" if features["dark"] else "light"
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": value}]})
        if "width" in features:
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                        {"width": features["width"], "height": features.get("height", 900), "deviceScaleFactor": features.get("scale", 1), "mobile": False})


class ConsoleTest(unittest.TestCase):
    """A server for each class, relays and windows for each test. A failing test leaves PICTURE and console log of each window in the build folder, and names them."""

    idle = []  # browsers without a cookie, for the next test

    @classmethod
    def setUpClass(cls):
        cls.stand = cls.enterClassContext(Stand())

    def setUp(self):
        self.windows = []

    def relay(self, *processes, **options):
        """A relay that ends after the pictures of a failure are taken."""
        return self.enterContext(self.stand.relay(*processes, **options))

    def logged_in(self, relay, token=TOKEN):
        window = self.window()
        window.log_in(relay.url, token)
        return window

    def halted(self, name, row=3, rows=6):
        """A table whose row `row` is refused, and a process of it, each named `name`."""
        self.stand.table(name)
        self.stand.receiver.refuse(row, process=name)
        self.stand.insert(name, count=rows)
        return self.stand.process(name, name)

    def card(self, name):
        return f"article[aria-label^='{name} ']"

    def journal(self, name, act):
        """(who, why, row) of each such act."""
        return [line.split("|") for line in self.stand.sql(
            f"SELECT who, coalesce(why, ''), coalesce(row_id, '') FROM seriatim.journal WHERE process_name = '{name}' AND act = '{act}' ORDER BY id").splitlines()]

    @classmethod
    def tearDownClass(cls):
        while ConsoleTest.idle:
            ConsoleTest.idle.pop().close()

    def window_of_held_timers(self, relay):
        window = self.window("--mute-audio")  # a flag, so that no other test gets it
        window.hold_long_timers()
        window.log_in(relay.url, TOKEN)
        return window

    def window(self, *flags):
        """A browser without cookies. With flags it is one of its own."""
        browser = ConsoleTest.idle.pop() if ConsoleTest.idle and not flags else Browser(*flags)
        browser.reusable = not flags
        self.windows.append(browser)
        return browser

    def tearDown(self):
        result = self._outcome.result
        failed = any(test is self for test, _ in result.failures + result.errors)
        for number, browser in enumerate(self.windows):
            try:
                if failed:
                    self.keep(browser, number)
                elif browser.reusable:
                    browser.clear()
                    ConsoleTest.idle.append(browser)
                    continue
            except WebDriverException as problem:
                print(f"{self.id()}: {problem}", flush=True)
            browser.close()

    def keep(self, browser, number):
        OUTPUT.mkdir(parents=True, exist_ok=True)
        base = OUTPUT / f"{self.id().rsplit('.', 1)[-1]}-{number}"
        browser.screenshot(f"{base}.png")
        with open(f"{base}.log", "w", encoding="utf-8") as log:
            log.write(f"{browser.driver.current_url}\n{browser.driver.title}\n" + "\n".join(browser.messages()))
        print(f"\n{self.id()}: see {base}.png and {base}.log", flush=True)


def screenshots():
    """The folder that the pictures of docs/console are to go to, or None."""
    return os.environ.get("SERIATIM_SCREENSHOTS")


def json_of(browser, path, method="GET", body=None, headers=None):
    """A request from the page's own origin, with its cookie: (status, JSON)."""
    return tuple(browser.driver.execute_async_script("""
        const [path, method, body, headers, done] = arguments;
        fetch(path, {method, headers: {"Content-Type": "application/json", "Seriatim-Console": "1", ...headers}, body: body === null ? undefined : body})
          .then(async (answer) => done([answer.status, await answer.json().catch(() => null)]), (error) => done([0, String(error)]));""",
                                                     path, method, None if body is None else json.dumps(body), headers or {}))
