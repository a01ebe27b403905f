"""What a person does in the page: retry, set aside, redrive, rewind, pause; and what the journal has of it."""
import unittest

from browser import ConsoleTest, json_of, screenshots
from stand import TOKEN, VIEWER, wait_for

ALICE = "alice (console "


class Acts(ConsoleTest):
    def test_a_halted_lane_shows_row_code_and_answer_and_moves_after_a_retry_without_reload(self):
        relay = self.relay(self.halted("sms"))
        window = self.logged_in(relay)
        for part in ("3: HTTP 422: number not in service", "halted", "POISON", "Rows behind it\n3", "seriatim retry sms", "seriatim skip --reason TEXT sms 3"):
            window.wait_text(part, self.card("sms"))
        self.assertIn("1 of 1", window.driver.title)
        window.run("window.stayed = true")
        self.stand.receiver.accept(3, process="sms")
        window.press("Retry", self.card("sms"))
        window.wait_gone(self.card("sms"))
        wait_for(lambda: self.stand.receiver.of("sms") == ["1", "2", "3", "4", "5", "6"], "all rows, in order")
        self.assertTrue(window.run("return window.stayed"))
        self.assertTrue(self.journal("sms", "retry")[0][0].startswith(ALICE))

    def test_a_row_is_set_aside_only_with_a_reason_and_under_the_users_name(self):
        relay = self.relay(self.halted("mail"))
        window = self.logged_in(relay)
        window.press("Set aside…", self.card("mail"))
        window.wait_text("3: HTTP 422: number not in service", "dialog")
        window.press("Set aside", "dialog")
        window.wait_text("A reason is required", "dialog")
        self.assertEqual(self.journal("mail", "skip"), [])
        window.type("Reason", "the guest has left")
        window.press("Set aside", "dialog")
        window.wait_gone("dialog")
        window.wait_gone(self.card("mail"))
        (who, why, row), = self.journal("mail", "skip")
        self.assertTrue(who.startswith(ALICE), who)
        self.assertEqual((why, row), ("the guest has left", "3"))

    def test_a_lane_at_rest_is_paused_and_goes_on(self):
        self.stand.table("rest")
        window = self.logged_in(self.relay(self.stand.process("rest", "rest")))
        window.go("/p/rest")
        window.wait_text("idle")
        window.press("Pause")
        window.wait_text("paused")
        window.press("Resume")
        window.wait_text("idle")
        self.assertEqual(len(self.journal("rest", "pause")), 1)

    def test_of_two_windows_that_set_the_same_row_aside_one_is_told_what_changed(self):
        relay = self.relay(self.halted("twice"))
        first, second = self.logged_in(relay), self.logged_in(relay)
        for window in (first, second):
            window.press("Set aside…", self.card("twice"))
            window.type("Reason", "no such guest")
        first.press("Set aside", "dialog")
        first.wait_gone("dialog")
        second.press("Set aside", "dialog")
        second.wait_text("Changed meanwhile, nothing was done", "dialog")
        self.assertEqual(len(self.journal("twice", "skip")), 1)

    def test_a_second_click_on_retry_after_a_quick_failure_tries_nothing(self):
        relay = self.relay(self.halted("again"))
        window = self.logged_in(relay)
        window.wait_halted(self.card("again"))
        bearer = {"Authorization": "Bearer " + TOKEN}
        body = {"act": "retry", "lane": 0}

        def lane():
            return json_of(window, "/api/v1/status")[1]["lanes"][0]

        def retried():  # on a loaded machine the lane may have changed hands since the status was read
            seen = lane()
            body["expect"] = {"lane": 0, **{name: seen[name] for name in ("epoch", "state", "row", "attempts")}}
            return json_of(window, "/api/v1/processes/again/acts", "POST", body, bearer)[0] == 200

        wait_for(retried, "the act is carried out")
        wait_for(lambda: lane()["attempts"] > body["expect"]["attempts"], "the row fails once more")
        status, problem = json_of(window, "/api/v1/processes/again/acts", "POST", body, bearer)
        self.assertEqual(status, 409)
        self.assertEqual(problem["now"]["row"], "3")

    def test_a_key_queues_behind_its_parked_row_and_goes_out_in_order(self):
        self.stand.table("queue")
        self.stand.receiver.refuse(1, process="queue")
        relay = self.relay(self.stand.process("queue", "queue", more='on_poison = "park_key"\n'))
        self.stand.insert("queue", "c7", 4)
        self.stand.insert("queue", "c8", 1)
        window = self.logged_in(relay)
        window.follow("a[href^='/p/queue?tab=parked']")
        window.wait_text("Key c7")
        for state in ("failed", "queues", "behind an older row of its key"):
            window.wait_text(state)
        if screenshots():
            window.screenshot(f"{screenshots()}/parked.png")
        self.stand.receiver.accept(1, process="queue")
        window.press("Redrive key…")
        window.wait_text("4 ", "dialog .plan")
        window.type("Reason", "the number works again")
        window.press("Redrive key", "dialog")
        window.wait_gone("dialog")
        wait_for(lambda: self.stand.receiver.of("queue") == ["5", "1", "2", "3", "4"], "the key's rows, in order")
        window.wait_text("No row is parked")

    def test_a_rewind_shows_the_command_lines_plan_and_wants_the_name(self):
        self.stand.table("rewound")
        self.stand.insert("rewound", count=4)
        relay = self.relay(self.stand.process("rewound", "rewound"))
        wait_for(lambda: len(self.stand.receiver.of("rewound")) == 4, "four rows")
        window = self.logged_in(relay)
        window.follow("a[href='/p/rewound']")
        window.press("Rewind…")
        window.type("Deliver next", "start", "dialog")
        window.press("Preview", "dialog")
        window.wait_text("4 rows would be delivered again", "dialog .plan")
        plan = self.stand.command(relay, "rewind", "rewound", "--to", "start")[1].splitlines()[0]
        self.assertIn(plan, window.text("dialog .plan"))
        window.type("Reason", "the receiver lost its disk", "dialog")
        window.type("Type rewound to confirm", "rewind", "dialog")
        window.press("Rewind", "dialog")
        window.wait_text("That is not the name of the process", "dialog")
        self.assertEqual(self.journal("rewound", "rewind"), [])
        window.type("Type rewound to confirm", "rewound", "dialog")
        window.press("Rewind", "dialog")
        window.wait_gone("dialog")
        wait_for(lambda: len(self.stand.receiver.of("rewound")) == 8, "four rows again")
        self.assertTrue(self.journal("rewound", "rewind")[0][0].startswith(ALICE))

    def test_a_rewind_whose_plan_has_changed_is_refused(self):
        self.stand.table("planned")
        self.stand.insert("planned", count=2)
        relay = self.relay(self.stand.process("planned", "planned"))
        wait_for(lambda: len(self.stand.receiver.of("planned")) == 2, "two rows")
        window = self.logged_in(relay)
        window.follow("a[href='/p/planned']")
        window.press("Rewind…")
        window.type("Deliver next", "start", "dialog")
        window.press("Preview", "dialog")
        window.wait_text("2 rows would be delivered again", "dialog .plan")
        self.stand.insert("planned")
        wait_for(lambda: len(self.stand.receiver.of("planned")) == 3, "a third row")
        window.type("Reason", "again", "dialog")
        window.type("Type planned to confirm", "planned", "dialog")
        window.press("Rewind", "dialog")
        window.wait_text("Changed meanwhile, nothing was done", "dialog")
        self.assertEqual(self.journal("planned", "rewind"), [])

    def test_a_pause_on_one_relays_page_is_seen_on_the_others(self):
        self.stand.table("paused")
        process = self.stand.process("paused", "paused", lanes=2)
        one, other = self.relay(process), self.relay(process)
        here, there = self.logged_in(one), self.logged_in(other)
        here.follow("a[href='/p/paused']")
        here.press("Pause")
        there.find("article[aria-label$=': paused']")
        there.press("Resume", "article[aria-label^='paused · lane 0']")
        here.wait_gone("article[aria-label='paused · lane 0: paused']")

    def test_a_viewer_has_no_buttons_and_a_direct_post_is_refused(self):
        relay = self.relay(self.halted("viewed"))
        window = self.logged_in(relay, VIEWER)
        window.wait_text("number not in service")
        self.assertEqual([one.text for one in window.driver.find_elements("css selector", "main button:not(.copy)")], [])
        for act in ("retry", "pause", "resume", "skip", "redrive", "discard", "rewind"):
            status, _ = json_of(window, "/api/v1/processes/viewed/acts", "POST", {"act": act, "row": "3", "reason": "x", "expect": {}}, {"Authorization": "Bearer " + VIEWER})
            self.assertEqual(status, 403, act)

    def test_a_payload_is_hidden_and_each_reveal_is_in_the_journal(self):
        self.stand.table("secret")
        self.stand.receiver.refuse(1, process="secret")
        self.stand.insert("secret", payload='{"phone": "+4560000000"}')
        relay = self.relay(self.stand.process("secret", "secret"))
        window = self.logged_in(relay)
        window.follow(self.card("secret") + " .answer a")
        window.wait_text("Payload")
        self.assertNotIn("4560000000", window.driver.page_source)
        self.assertEqual(self.journal("secret", "reveal"), [])
        if screenshots():
            window.screenshot(f"{screenshots()}/row.png")
        window.press("Reveal…")
        window.press("Reveal", "dialog")
        window.wait_text("+4560000000", "dialog")
        who, _, row = self.journal("secret", "reveal")[0]
        self.assertTrue(who.startswith(ALICE))
        self.assertEqual(row, "1")
        window.press("Close", "dialog")
        window.wait_gone("dialog")
        self.assertNotIn("4560000000", window.driver.page_source)

    def test_a_retry_by_keyboard_alone(self):
        relay = self.relay(self.halted("typed"))
        window = self.logged_in(relay)
        window.wait_halted(self.card("typed"))
        self.stand.receiver.accept(3, process="typed")
        window.run("document.activeElement.blur()")
        for _ in range(40):
            window.keys("\ue004")  # Tab
            if window.run("return document.activeElement.textContent") == "Retry":
                break
        self.assertEqual(window.run("return document.activeElement.textContent"), "Retry")
        outline = window.run("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertNotEqual(outline, "none", "the focus is seen")
        window.keys("\ue007")  # Enter
        wait_for(lambda: self.stand.receiver.of("typed")[-1:] == ["6"], "all rows")


if __name__ == "__main__":
    unittest.main(verbosity=2)
