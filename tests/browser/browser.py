"""A headless Chromium that looks at a console, and what it saw when a test fails."""
import json
import os
import shutil
import tempfile
import unittest
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from stand import OUTPUT, wait_for

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]


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

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, url):
        self.driver.get(url)

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
        except (StaleElementReferenceException, NoSuchElementException):
            return ""

    def wait_text(self, text, css="main", seconds=20):
        wait_for(lambda: text in self.text(css), f"{text!r} in {css}, which says {self.text(css)!r}" if False else f"{text!r} in {css}", seconds)

    def wait_gone(self, css, seconds=20):
        wait_for(lambda: self.seen(css) is None, f"no more {css}", seconds)

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
        self.button(name, within).click()

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


class BrowserTest(unittest.TestCase):
    """A failing test leaves PICTURE and console log of each window in the build folder, and names them."""

    def setUp(self):
        self.windows = []

    def window(self, *flags, **options):
        browser = Browser(*flags, **options)
        self.windows.append(browser)
        return browser

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        self._result, self._before = result, before
        return super().run(result)

    def tearDown(self):
        for number, browser in enumerate(self.windows):
            try:
                if self.failed():
                    self.keep(browser, number)
            finally:
                browser.close()

    def failed(self):
        return any(error for _, error in self._outcome.errors) if hasattr(self._outcome, "errors") else not self._outcome.success

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
