// What operators do: pause, resume, retry, skip, append.
#include <future>

#include "postgres/admin/check/check.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

TEST_CASE("a paused lane refuses its holder until it is resumed") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  CHECK(desk.admin.pause(desk.target, alice).at(0) == "lane 0: paused after row 1");
  CHECK(relay.deliver(1).empty());
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK(report.lane.state == LaneState::paused);
  CHECK(report.lane.detail == "paused by alice@desk: the number is wrong");
  CHECK(desk.journal("act, who, why, position_id, epoch") ==
        "pause|alice@desk|the number is wrong|1|1");
  CHECK_THROWS_WITH_AS(desk.admin.pause(desk.target, alice), doctest::Contains("paused already"),
                       Error);
  CHECK_THROWS_WITH_AS(desk.admin.retry(desk.target, alice), doctest::Contains("resume"), Error);

  CHECK(desk.admin.resume(desk.target, {"bob", ""}).at(0) == "lane 0: resumed after row 1");
  CHECK(desk.journal("act, who") == "resume|bob");
  CHECK(relay.deliver(1) == Ids{"2"});
  CHECK_THROWS_WITH_AS(desk.admin.resume(desk.target, alice), doctest::Contains("is not paused"),
                       Error);
}

TEST_CASE("a halted lane is neither paused nor resumed: retry and skip are named") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  halt_at_next(relay);
  for (const auto act : {&Admin::pause, &Admin::resume}) {
    CHECK_THROWS_WITH_AS((desk.admin.*act)(desk.target, alice, std::nullopt),
                         doctest::Contains("`retry`"), Error);
    CHECK_THROWS_WITH_AS((desk.admin.*act)(desk.target, alice, std::nullopt),
                         doctest::Contains("`skip`"), Error);
  }
  CHECK(desk.cursor("state, reason, failed_id") == "halted|POISON|1");
  CHECK(desk.journal("act").empty());
}

TEST_CASE("an act on several lanes takes those it applies to and names the others") {
  Desk desk;
  desk.database.run(
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, state, reason) VALUES "
      "('process', 0, 2, 'halted', 'POISON'), ('process', 1, 2, 'running', NULL)");
  const auto result = desk.admin.pause(desk.target, alice);
  REQUIRE(result.size() == 2);
  CHECK(result[0] == "lane 1: paused before the first row");
  CHECK(result[1].find("lane 0 is halted") == 0);
}

TEST_CASE("an unknown process is refused with the known ones") {
  Desk desk;
  CHECK_THROWS_WITH_AS(desk.admin.pause(desk.target, alice), doctest::Contains("none did"), Error);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.target.process.name = "proces";
  CHECK_THROWS_WITH_AS(desk.admin.pause(desk.target, alice),
                       doctest::Contains("known are: process"), Error);
}

TEST_CASE("a halted lane tries its row again with the next attempt number") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  halt_at_next(relay, HaltReason::crashes);
  desk.database.run("UPDATE seriatim.cursor SET crashes = 3");
  CHECK(desk.admin.retry(desk.target, alice).at(0) == "lane 0: tries again after row 1");
  CHECK(desk.cursor("state, crashes, attempts, reason, next_attempt_at") == "running|0|1");
  CHECK(desk.journal("act, who, row_id, position_id, detail#>>'{before,reason}'") ==
        "retry|alice@desk|2|1|CRASHES");
  REQUIRE(relay.claim());
  CHECK(relay.start());
  CHECK(relay.session->read_cursor().attempts == 2);
}

TEST_CASE("a retrying lane tries again at once") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.start());
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Retry{{"1", "503"}, milliseconds{3'600'000}}}));
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK(report.lane.state == LaneState::retrying);
  CHECK(report.lane.retry_in > milliseconds{3'000'000});
  desk.admin.retry(desk.target, alice);
  CHECK(relay.session->read_cursor().retry_in == milliseconds{0});
  CHECK(relay.session->read_cursor().state == Cursor::State::running);
}

TEST_CASE("a relay that died of something else is not counted as killed by the retried row") {
  Desk desk;
  {
    auto relay = desk.relay("dead");
    REQUIRE(relay.claim());
    halt_at_next(relay);
  }
  REQUIRE(desk.database.becomes_true("SELECT holder IS NULL FROM seriatim.lanes"));
  desk.admin.retry(desk.target, alice);
  auto next = desk.relay("next");
  REQUIRE(next.claim());
  CHECK(next.cursor.crashes == 0);
}

TEST_CASE("skip sets aside exactly the row a halted lane is at") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Desk desk(order);
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver(1) == Ids{"1"});
    halt_at_next(relay);
    CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "3", alice),
                         doctest::Contains("lane 0 is at row 2"), Error);
    CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "1", alice),
                         doctest::Contains("lane 0 is at row 2"), Error);
    CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "2", {"alice", ""}),
                         doctest::Contains("needs a reason"), Error);
    CHECK(desk.cursor("state, position_id, sequence") == "halted|1|1");
    CHECK(desk.journal("act").empty());

    CHECK(desk.admin.skip(desk.target, "2", alice).at(0) == "lane 0: skipped row 2 (sequence 2)");
    CHECK(desk.cursor("state, position_id, sequence, attempts, reason, failed_id") ==
          "running|2|2|0");
    CHECK(desk.journal("act, who, why, row_id, position_id, detail#>>'{before,detail}'") ==
          "skip|alice@desk|the number is wrong|2|1|receiver said 422");
    CHECK(desk.database.value("SELECT c.position_at = b.created_at FROM seriatim.cursor AS c "
                              "JOIN bookings AS b ON b.id::text = c.position_id") == "t");
    REQUIRE(relay.claim());
    CHECK(relay.deliver() == Ids{"3"});
    CHECK(relay.cursor.sequence == 3);
  }
}

TEST_CASE("what a holder had in mind for a skipped row is refused") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto first = relay.poll(1).records.at(0).position;
  desk.admin.skip(desk.target, "1", alice);
  CHECK_FALSE(relay.start());
  CHECK_FALSE(relay.start());
  CHECK_FALSE(relay.settle({std::nullopt, {first}, {}, Rest{}}));
  CHECK(desk.cursor("position_id, sequence") == "1|1");
}

TEST_CASE("a row that might still get an earlier neighbour is not skipped") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Desk desk(order);
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver().size() == 3);
    auto producer = desk.database.connect();
    producer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");  // draws 4
    desk.insert(1);                                                       // 5, committed first
    CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "5", alice),
                         doctest::Contains(("pid " + std::to_string(producer.pid())).c_str()),
                         Error);
    producer.run("COMMIT");
    CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "5", alice),
                         doctest::Contains("lane 0 is at row 4"), Error);
    CHECK(relay.deliver() == Ids{"4", "5"});
  }
}

TEST_CASE("a failed row is skipped although others are writing") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  halt_at_next(relay);
  auto producer = desk.database.connect();
  producer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
  CHECK(desk.admin.skip(desk.target, "1", alice).size() == 1);
}

TEST_CASE("a failed row that was deleted needs no skip: retry suffices") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  halt_at_next(relay);
  desk.database.run("DELETE FROM bookings WHERE id = 1");
  CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "1", alice),
                       doctest::Contains("`retry` suffices"), Error);
  desk.admin.retry(desk.target, alice);
  REQUIRE(relay.claim());
  CHECK(relay.deliver() == Ids{"2", "3"});
}

TEST_CASE("a row too large to read can be skipped, and a paused lane stays paused") {
  Desk desk;
  desk.target.source.payload_max = 10;
  desk.database.run("UPDATE bookings SET payload = to_json(repeat('x', 100)) WHERE id = 1");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto round = relay.poll();
  REQUIRE(round.unreadable);
  desk.admin.pause(desk.target, alice);
  desk.admin.skip(desk.target, "1", alice);
  CHECK(desk.cursor("state, position_id") == "paused|1");
  desk.admin.resume(desk.target, alice);
  REQUIRE(relay.claim());
  CHECK(relay.deliver() == Ids{"2", "3"});
}

TEST_CASE("an act waits for the call in flight, and gives up with nothing changed when it hangs") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto record = relay.poll(1).records.at(0);
  REQUIRE(relay.start());
  CHECK_THROWS_WITH_AS(desk.admin.pause(desk.target, alice),
                       doctest::Contains("the call of lane 0 by"), Error);

  desk.target.process.handler_deadline = milliseconds{20'000};
  auto pausing =
      std::async(std::launch::async, [&] { return desk.admin.pause(desk.target, alice); });
  REQUIRE(desk.database.becomes_true("SELECT hold_until > clock_timestamp() FROM seriatim.cursor"));
  REQUIRE(relay.settle({std::nullopt, {record.position}, {}, Rest{}}));
  CHECK(pausing.get().at(0) == "lane 0: paused after row 1");
}

TEST_CASE("an act gets its turn among calls that follow one another at once") {
  Desk desk;
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 2000)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto records = relay.poll(2'000).records;
  REQUIRE(relay.start());
  auto pausing =
      std::async(std::launch::async, [&] { return desk.admin.pause(desk.target, alice); });
  std::size_t done = 0;
  std::optional<Position> from;
  auto grant = Grant::ours;
  for (; grant == Grant::ours && done < records.size(); ++done) {
    const auto next = records[done].position;
    grant = relay.session->settle(relay.cursor.epoch, {from, {next}, {}, Next{1}}).grant;
    from = next;
  }
  CHECK(grant == Grant::held);
  CHECK(pausing.get().at(0) == "lane 0: paused after row " + records[done - 1].id());
  CHECK_FALSE(relay.start());
}

TEST_CASE("an act wakes the relay by a notification") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto now = std::chrono::steady_clock::now;
  while (relay.session->wait_until(now())) {  // hints of the rows inserted before
  }
  desk.admin.pause(desk.target, alice);
  CHECK(relay.session->wait_until(now() + std::chrono::seconds(20)));
}

TEST_CASE("words with NULs, broken UTF-8 and quotes are journalled harmlessly") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.admin.pause(desk.target,
                   {"o'hara\xff", std::string("a\0b", 3) + "'); DROP TABLE bookings; --"});
  CHECK(desk.journal("who, why") == "o'hara?|ab'); DROP TABLE bookings; --");
}

TEST_CASE("append puts a message into the outbox and answers its id") {
  TestDatabase database;
  Admin admin(database.url());
  CHECK(admin.append({"booking", "7", "booked", R"({"a": 1.0})"}) == "1");
  CHECK(database.value("SELECT payload::text || headers::text FROM seriatim.outbox") ==
        R"({"a": 1.0}{})");
  CHECK_THROWS_AS(admin.append({"booking", "7", "booked", "{not json"}), Error);
}

TEST_CASE("a producer needs to insert into the outbox and to read its id, nothing else") {
  TestDatabase database;
  const LeastRole producer(database, "");
  Admin admin(producer.url());
  const Admin::Message message{"booking", "7", "booked", "{}"};
  CHECK_THROWS_AS(admin.append(message), Error);
  database.run("GRANT USAGE ON SCHEMA seriatim TO " + producer.name());
  database.run("GRANT INSERT ON seriatim.outbox TO " + producer.name());
  CHECK_THROWS_AS(admin.append(message), Error);
  database.run("GRANT SELECT (id) ON seriatim.outbox TO " + producer.name());
  CHECK_NOTHROW(admin.append(message));
  CHECK(database.value("SELECT count(*) FROM seriatim.outbox") == "1");
}

TEST_CASE("a role with the rights of docs/roles.sql alone can run, read and act") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Desk desk(order);
    const LeastRole role(desk.database, "public.bookings");
    CHECK(postgres::refusals(postgres::check(role.url(), desk.target)).empty());

    Waker waker;
    const auto source = postgres_source(role.url(), desk.target.source);
    runtime::LaneSession session(*source, {"process", 0, 1}, desk.target.process, "relay", waker);
    const auto claim = session.claim();
    REQUIRE(claim.granted);
    const auto first = session.poll(std::nullopt, 1).records.at(0).position;
    const auto settle = [&](const Settlement& settlement) {
      return session.settle(claim.cursor.epoch, settlement).grant == Grant::ours;
    };
    REQUIRE(session.start(claim.cursor.epoch, 1) == Grant::ours);
    REQUIRE(settle({std::nullopt, {first}, {}, Next{}}));
    REQUIRE(settle({first, {}, {}, Retry{{"2", "503"}, milliseconds{60'000}}}));

    Admin admin(role.url());
    CHECK(admin.status(desk.target).at(0).lane.state == LaneState::retrying);
    CHECK(admin.status(desk.target).at(0).holder_alive);
    CHECK(admin.peek(desk.target, 0, 10).rows.size() == 2);
    CHECK(admin.retry(desk.target, alice).size() == 1);
    REQUIRE(settle({first, {}, {}, Halt{HaltReason::poison, {"2", "422"}}}));
    CHECK(admin.skip(desk.target, "2", alice).size() == 1);
    CHECK(admin.pause(desk.target, alice).size() == 1);
    CHECK(admin.resume(desk.target, alice).size() == 1);
    session.release(session.read_cursor().epoch, false);
    CHECK(desk.database.value("SELECT string_agg(act, ' ' ORDER BY id) FROM seriatim.journal") ==
          "begin claim retry halt skip pause resume release");

    auto renamed = desk.target;
    renamed.process.name = "renamed";
    CHECK(admin.adopt(renamed, "process", alice).size() == 1);
    CHECK(admin.adopt(desk.target, "renamed", alice).size() == 1);  // takes the name back
  }
}
