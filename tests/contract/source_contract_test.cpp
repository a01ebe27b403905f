// What every source promises a lane: the memory source, PostgreSQL and a log pass the same tests,
// so the fakes may be trusted, and a source may be of another kind.
#include <functional>

#include "contract/source_promises.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

std::vector<Promise> all_promises() {
  std::vector<Promise> all;
  for (const auto& some : {promises_of_rows(), promises_of_calls(), promises_of_holders()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

using Make = std::function<std::unique_ptr<SourceUnderTest>()>;

Abilities abilities_of(SourceUnderTest& source) {
  return Relay(source, "relay").session->abilities();
}

bool applies(const Promise& promise, const Abilities& abilities) {
  const auto& needs = promise.needs;
  return (abilities.fence || !needs.fence) && (abilities.reread || !needs.reread);
}

/// What a source cannot be asked for, by what it says of itself.
std::vector<std::string> skipped(const Make& make) {
  const auto abilities = abilities_of(*make());
  std::vector<std::string> names;
  for (const auto& promise : all_promises()) {
    if (!applies(promise, abilities)) names.emplace_back(promise.name);
  }
  return names;
}

void keep_promises(const Make& make) {
  for (const auto& promise : all_promises()) {
    SUBCASE(promise.name) {
      const auto source = make();
      if (applies(promise, abilities_of(*source))) promise.check(*source);
    }
  }
}

void keep_all_promises(const Make& make) {
  CHECK(skipped(make).empty());
  keep_promises(make);
}

}  // namespace

TEST_CASE("the memory source keeps the contract in created_at order") {
  keep_all_promises([] { return make_memory_source({OrderBy::created_at, false}); });
}

TEST_CASE("the memory source keeps the contract in id order") {
  keep_all_promises([] { return make_memory_source({OrderBy::id, false}); });
}

TEST_CASE("the memory source, filtered, keeps the contract in created_at order") {
  keep_all_promises([] { return make_memory_source({OrderBy::created_at, true}); });
}

TEST_CASE("the memory source, filtered, keeps the contract in id order") {
  keep_all_promises([] { return make_memory_source({OrderBy::id, true}); });
}

TEST_CASE("PostgreSQL keeps the contract in created_at order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::created_at, false}); });
}

TEST_CASE("PostgreSQL keeps the contract in id order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::id, false}); });
}

TEST_CASE("PostgreSQL, filtered, keeps the contract in created_at order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::created_at, true}); });
}

TEST_CASE("PostgreSQL, filtered, keeps the contract in id order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::id, true}); });
}

TEST_CASE("a log with its own kind of position and no fence keeps the contract") {
  CHECK(skipped(make_log_source) == Ids{"an open transaction fences later rows",
                                        "a rolled back row is a hole, waited for once"});
  keep_promises(make_log_source);
}
