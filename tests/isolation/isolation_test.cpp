// Named sessions, named steps, every interleaving, a real server, in the manner of PostgreSQL's
// isolation tester (src/test/isolation there). What a spec may say is in spec.hpp.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "isolation/tester.hpp"
#include "support/skip.hpp"

using namespace seriatim;
using namespace seriatim::isolation;

namespace {

const std::filesystem::path specs = SERIATIM_SPECS;

unsigned server_version() {
  return static_cast<unsigned>(std::stoul(
      testing::SqlSession(testing::shared_server().url()).value("SHOW server_version_num")));
}

void hold(const std::string& name) {
  const auto spec = read_spec(specs / (name + ".spec"));
  if (server_version() < spec.needs * 10'000) {
    testing::note_skipped(name + " needs PostgreSQL " + std::to_string(spec.needs));
    return;
  }
  for (const auto order : spec.orders) {
    const std::string by = order == OrderBy::id ? "id" : "created_at";
    CAPTURE(name);
    CAPTURE(by);
    const auto verdict = run_spec(spec, order);
    if (verdict.complaint) FAIL(name, " by ", by, ": ", *verdict.complaint);
    MESSAGE(name, " by ", by, ": ", verdict.permutations, " permutations");
    CHECK(verdict.permutations > 0);
  }
}

}  // namespace

TEST_CASE("writers that overtake each other are put in order") {
  hold("two_writers");
}

TEST_CASE("writers that come and go between the parts of a poll lose nothing") {
  hold("poll_in_three");
}

TEST_CASE("a transaction prepared before, during or after a poll holds what comes after it") {
  hold("prepared");
}

TEST_CASE("a prepared transaction that is rolled back frees what it held") {
  hold("prepared_and_rolled_back");
}

TEST_CASE("a relay that lost its session overtakes no one it knew before") {
  hold("session_lost");
}

TEST_CASE("a savepoint rolled back lets go, one released does not") {
  hold("savepoint");
}

TEST_CASE("LOCK TABLE before the insert changes nothing but who waits") {
  hold("lock_table");
}

TEST_CASE("locks of readers hold nothing until the insert comes") {
  hold("no_writers");
}

TEST_CASE("a slow BEFORE trigger is waited for from before its values were drawn") {
  hold("slow_trigger");
}

TEST_CASE("the lock is older than every default, whatever one of them waits for") {
  hold("slow_default");
}

TEST_CASE("prepared statements and functions take the lock before their defaults") {
  hold("plans");
}

TEST_CASE("several rows of one statement go out together: VALUES, SELECT and COPY") {
  hold("many_rows");
}

TEST_CASE("several transactions in one message, and one of several statements, are in order") {
  hold("one_message");
}

TEST_CASE("inserts in a CTE, a function, a rule or a DO block are seen") {
  hold("indirect");
}

TEST_CASE("a row that waits for its foreign key is waited for") {
  hold("foreign_key");
}

TEST_CASE("rows that refer to ours hold nothing") {
  hold("referenced");
}

TEST_CASE("an insert that waits for a conflict keeps its place") {
  hold("on_conflict");
}

TEST_CASE("MERGE that inserts is seen") {
  hold("merge");
}

TEST_CASE("writers through the parent and into leaves are put in order") {
  hold("partitions");
}

TEST_CASE("a relay that reads one partition waits for who writes through the parent") {
  hold("one_partition");
}

TEST_CASE("an empty partition attached among writers loses nothing") {
  hold("attach");
}

TEST_CASE("a partition detached among writers takes along only what was its own") {
  hold("detach");
}

TEST_CASE("a partition attached with rows in it is what the fence cannot see") {
  hold("attach_filled");
}

TEST_CASE("a row moved to another partition goes out once") {
  hold("move");
}

TEST_CASE("a row moved into the one partition that is read is what the fence cannot see") {
  hold("move_into_the_one_read");
}

TEST_CASE("TRUNCATE and DELETE among writers lose nothing that stays") {
  hold("emptied");
}

TEST_CASE("who writes old rows delays the young ones, and is named") {
  hold("old_rows");
}

TEST_CASE("an id drawn before the insert is what the fence cannot see by id") {
  hold("id_drawn_ahead");
}

TEST_CASE("ids from a cached sequence are what the fence cannot see by id") {
  hold("ids_pooled");
}

TEST_CASE("a stamp drawn before the insert is what the fence cannot see by created_at") {
  hold("stamp_drawn_ahead");
}

TEST_CASE("DEFAULT now() is what the fence cannot see by created_at") {
  hold("default_now");
}

TEST_CASE("every spec is held") {
  std::ifstream in(specs.parent_path() / "isolation_test.cpp");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const auto& file : std::filesystem::directory_iterator(specs)) {
    const auto name = file.path().stem().string();
    CHECK_MESSAGE(text.find("hold(\"" + name + "\")") != std::string::npos, name);
  }
}

TEST_CASE("the judge detects a loss, a repeat and a row out of order") {
  const Row a{{1, "2"}, "a"};
  const Row b{{2, "1"}, "b"};
  CHECK_FALSE(judge(OrderBy::created_at, {a, b}, {a, b}));
  CHECK_FALSE(judge(OrderBy::id, {b, a}, {}));
  CHECK(judge(OrderBy::created_at, {a}, {a, b}) == "b was lost");
  CHECK(judge(OrderBy::created_at, {a, b, b}, {a, b}) == "b was delivered twice");
  CHECK(judge(OrderBy::id, {a, b}, {a, b}) == "b was delivered after a, which comes after it");
}
