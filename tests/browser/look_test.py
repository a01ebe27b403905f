"""What the page shows of lanes that are stopped, of relays that die, and of rows that were written to attack it."""
import unittest

from browser import ConsoleTest, json_of, screenshots
from stand import Psql, wait_for

EVIL = "<img src=x onerror=\"document.title='taken'\">"
EVIL_NAME = "<b>evil"


class Look(ConsoleTest):
    def idle(self, name):
        """A process whose table stays empty, so that a relay of its own can serve the page of others."""
        self.stand.table(name)
        return self.stand.process(name, name)

    def test_a_transaction_that_holds_rows_back_is_named_and_gone_after_its_commit(self):
        self.stand.table("fenced")
        relay = self.relay(self.stand.process("fenced", "fenced"))
        window = self.logged_in(relay)
        writer = self.enterContext(Psql(self.stand.server))
        pid = writer.ask("SET application_name = 'checkout'; BEGIN; INSERT INTO fenced (customer) VALUES ('c1'); SELECT pg_backend_pid();")
        self.stand.insert("fenced")
        window.wait_text(f"pid {pid}", "article.card", 30)
        for part in ("checkout", "idle in transaction", f"SELECT pg_terminate_backend({pid})"):
            window.wait_text(part, "article.card")
        writer.ask("COMMIT; SELECT 1;")
        window.wait_gone("article.card")
        wait_for(lambda: self.stand.receiver.of("fenced") == ["1", "2"], "both rows")

    def test_a_prepared_transaction_shows_its_gid(self):
        self.stand.table("prepared")
        relay = self.relay(self.stand.process("prepared", "prepared"))
        window = self.logged_in(relay)
        self.stand.sql("BEGIN; INSERT INTO prepared (customer) VALUES ('c1'); PREPARE TRANSACTION 'checkout-17'")
        try:
            self.stand.insert("prepared")
            window.wait_text("checkout-17", "article.card")
            window.wait_text("ROLLBACK PREPARED 'checkout-17'", "article.card")
        finally:
            self.stand.sql("ROLLBACK PREPARED 'checkout-17'")
        window.wait_gone("article.card")

    def test_a_killed_holder_leaves_nobody_and_a_growing_lag_until_another_takes_the_lane(self):
        self.stand.table("held")
        process, other = self.stand.process("held", "held"), self.idle("held_page")
        page = self.relay(process, other, only=["held_page"])
        holder = self.relay(process)
        window = self.logged_in(page)
        window.wait_gone(self.card("held"))
        holder.kill()
        self.stand.insert("held", count=7)
        window.wait_text("nobody holds", self.card("held"))
        window.wait_text("7 rows wait", "h1")
        oldest = lambda: window.text(self.card("held") + " .facts div:nth-child(2) dd")
        first = oldest()
        wait_for(lambda: oldest() != first, "the oldest row gets older")
        self.enterContext(holder.again())
        window.wait_gone(self.card("held"))
        wait_for(lambda: len(self.stand.receiver.of("held")) == 7, "all rows")

    def test_a_page_whose_relay_was_killed_is_greyed_and_live_again_without_reload(self):
        relay = self.relay(self.idle("greyed"))
        window = self.logged_in(relay)
        window.find(".live.on")
        window.run("window.stayed = true")
        relay.kill()
        window.wait_text("Not live since ", "#live")
        window.find("main.old")
        self.assertTrue(window.driver.title.startswith("Not live"))
        self.enterContext(relay.again())
        window.find(".live.on")
        window.wait_gone("main.old")
        self.assertTrue(window.run("return window.stayed"))

    def test_paused_updates_are_in_the_address_and_keep_what_is_shown(self):
        relay = self.relay(self.halted("calm"))
        window = self.logged_in(relay)
        window.wait_halted(self.card("calm"))
        window.press("Pause updates")
        window.wait_text("Paused at ", "#live")
        self.assertIn("pause=1", window.driver.current_url)
        self.stand.receiver.accept(3, process="calm")
        self.stand.command(relay, "retry", "calm")
        wait_for(lambda: self.stand.receiver.of("calm")[-1:] == ["6"], "all rows")
        self.assertIsNotNone(window.seen(self.card("calm")))
        window.press("Go on")
        window.wait_gone(self.card("calm"))

    def test_a_tab_that_is_hidden_for_30_seconds_ends_its_stream_until_it_is_seen(self):
        relay = self.relay(self.halted("unseen"))
        window = self.window_of_held_timers(relay)
        window.wait_text("Live", "#live")
        ended = "return window.streams.map((signal) => signal.aborted)"
        self.assertEqual(window.run(ended), [False])
        window.run("hide(true); hide(false)")
        self.assertEqual(window.run("return ring(30000)"), 0, "a tab that was seen again in time keeps its stream")
        window.run("hide(true)")
        self.assertEqual(window.run(ended), [False])
        self.assertEqual(window.run("return ring(30000)"), 1)
        self.assertEqual(window.run(ended), [True])
        self.stand.receiver.accept(3, process="unseen")
        self.assertEqual(self.stand.command(relay, "retry", "unseen")[0], 0)
        window.run("hide(false)")
        window.wait_gone(self.card("unseen"))
        window.wait_text("Live", "#live")
        self.assertEqual(window.run(ended), [True, False])

    def test_the_token_of_acts_is_forgotten_after_15_idle_minutes(self):
        relay = self.relay(self.halted("forgotten"))
        window = self.window_of_held_timers(relay)
        window.press("Set aside…", self.card("forgotten"))
        window.wait_text("Reason", "dialog")
        self.assertNotIn("Your token", window.text("dialog"))
        window.press("Cancel", "dialog")
        self.assertEqual(window.run("return ring(15 * 60 * 1000)"), 1, "each key and click begins the 15 minutes anew")
        window.press("Retry", self.card("forgotten"))
        window.wait_text("Your token", "dialog")
        self.assertEqual(self.journal("forgotten", "retry"), [])

    def test_markup_in_any_field_is_text(self):
        self.stand.sql("CREATE TABLE evil (id text PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), customer text, "
                       "event_type text, payload jsonb NOT NULL DEFAULT '{}', headers jsonb); CREATE INDEX ON evil (created_at, id)")
        answer = self.stand.receiver.answer
        self.stand.receiver.answer = lambda row: (422, EVIL.encode()) if row[0] == "evil" else answer(row)
        self.addCleanup(setattr, self.stand.receiver, "answer", answer)
        relay = self.relay(self.stand.process("evil", "evil", more='on_poison = "park_key"\n'), self.stand.process(EVIL_NAME, "evil"))
        self.stand.receiver.answer = lambda row: (422, EVIL.encode())
        text = EVIL.replace("'", "''")
        self.stand.sql(f"INSERT INTO evil VALUES ('{text}', DEFAULT, '{text}', '{text}', jsonb_build_object('a', '{text}'), jsonb_build_object('a', '{text}'))")
        window = self.logged_in(relay)
        window.wait_text(f"{EVIL}: HTTP 422: {EVIL}")
        for path in ("/p/%3Cb%3Eevil?tab=ahead", "/p/evil?tab=parked", "/p/evil?tab=journal", "/journal", "/"):
            window.go(path)
            window.wait_text(EVIL)
        window.follow("article .answer a")
        window.wait_text(EVIL, "h1")
        window.press("Set aside…")
        window.type("Reason", EVIL, "dialog")
        window.press("Set aside", "dialog")
        window.wait_gone("dialog")
        self.assertEqual(self.journal(EVIL_NAME, "skip")[0][1], EVIL)
        window.go("/journal")
        window.wait_text("skip")
        self.assertEqual(window.run("return document.querySelectorAll('main img, main b, dialog img').length"), 0)
        self.assertNotEqual(window.driver.title, "taken")
        self.assertEqual(window.messages(), [], "the console and the policy of contents had nothing to say")

    def test_a_page_on_another_port_can_neither_act_nor_show_ours_in_a_frame(self):
        relay = self.relay(self.halted("framed"))
        window = self.logged_in(relay)
        window.wait_text("number not in service")
        self.stand.receiver.page = f"<iframe src='{relay.url}/'></iframe><form method=post enctype=text/plain action='{relay.url}/api/v1/processes/framed/acts'><input name='{{\"act\":\"pause\",\"x\":\"' value='\"}}'></form>"
        window.open(self.stand.receiver.url)
        window.driver.switch_to.frame(0)
        self.assertEqual(window.driver.find_elements("css selector", "#main"), [])
        window.driver.switch_to.default_content()
        window.run("document.forms[0].submit()")
        wait_for(lambda: "acts" in window.driver.current_url, "the relay answers the form")
        self.assertEqual(self.journal("framed", "pause"), [])

    def test_a_relay_without_tokens_shows_all_and_lets_nobody_act(self):
        relay = self.relay(self.halted("open"), tokens=False)
        window = self.window()
        window.open(relay.url)
        window.wait_text("number not in service")
        self.assertEqual([one.text for one in window.driver.find_elements("css selector", "main button:not(.copy)")], [])
        status, problem = json_of(window, "/api/v1/processes/open/acts", "POST", {"act": "retry", "expect": {}})
        self.assertEqual(status, 403)
        self.assertIn("token", problem["remedy"] + problem["detail"])

    @unittest.skipUnless(screenshots(), "SERIATIM_SCREENSHOTS names no folder")
    def test_pictures_for_the_documentation(self):
        folder = screenshots()
        self.stand.table("bookings")
        self.stand.receiver.refuse(41, process="booking_sms")
        names = ("booking_sms", "booking_mail", "search_index", "audit_log")
        relay = self.relay(*[self.stand.process(name, "bookings", 2 if name == "search_index" else 1) for name in names])
        cursors = "SELECT count(*) FROM seriatim.cursor WHERE process_name IN ('booking_sms', 'booking_mail', 'search_index', 'audit_log')"
        wait_for(lambda: self.stand.sql(cursors) == "5", "a cursor for each lane")
        self.stand.sql("INSERT INTO seriatim.history SELECT process_name, minute, lane, n, 0, n, n * 4000, 21000, 90000 FROM seriatim.cursor, "
                       "generate_series(date_trunc('minute', now()) - interval '59 min', date_trunc('minute', now()) - interval '2 min', '1 min') minute, "
                       "lateral (SELECT (60 + 40 * sin(extract(epoch FROM minute) / 500 + length(process_name)) + 30 * random())::int AS n) counted")
        window = self.logged_in(relay)
        for customer in range(60):
            self.stand.insert("bookings", f"guest-{customer}", 2)
        window.find(self.card("booking_sms"))
        self.stand.command(relay, "audit", "booking_mail")
        window.wait_text("complete and in order")
        wait_for(lambda: len(window.driver.find_elements("css selector", ".spark:not(.flat)")) == 4, "the last hour of each lane")
        window.screenshot(f"{folder}/halted.png")
        window.media(dark=True)
        window.screenshot(f"{folder}/dark.png")
        window.media(dark=False, width=390, height=844)
        window.screenshot(f"{folder}/phone.png")
        window.media(width=1280, height=757)
        self.stand.receiver.accept(41, process="booking_sms")
        window.press("Retry", self.card("booking_sms"))
        window.wait_gone(self.card("booking_sms"))
        window.press("Dismiss")
        for customer in range(20):
            self.stand.insert("bookings", f"guest-{customer}", 3)
        window.screenshot(f"{folder}/moving.png")


if __name__ == "__main__":
    unittest.main(verbosity=2)
