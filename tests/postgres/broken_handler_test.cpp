// A handler whose answer does not fit its call, in the cursor's own transaction.
#include "postgres/desk.hpp"
#include "seriatim/relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

/// Writes a row of its own for each it is given, and claims one more.
class ClaimsOneMore final : public Handler {
 public:
  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override {
    for (const auto& record : batch) {
      context.transaction->run("INSERT INTO model VALUES ($1::bigint)", {record.id()});
    }
    return {batch.size() + 1, std::nullopt};
  }
};

}  // namespace

TEST_CASE("what a handler that claims more than it was given wrote with the cursor is not kept") {
  Desk desk;
  desk.database.run("CREATE TABLE model (id bigint)");
  desk.target.process.commit_every = 2;
  Relay relay({.drain = true});
  relay.add(desk.target.process, postgres_source(desk.database.url(), desk.target.source),
            [](unsigned) { return std::make_unique<ClaimsOneMore>(); });
  const auto left = relay.run({}).at(0);
  CHECK(left.state == LaneState::halted);
  CHECK(left.reason == HaltReason::unknown_outcome);
  CHECK(desk.cursor("state, reason, failed_id, sequence") == "halted|UNKNOWN_OUTCOME|1|0");
  CHECK(contains(desk.cursor("detail"), "claims 3 rows done, but was given 2 rows"));
  CHECK(desk.database.value("SELECT count(*) FROM model") == "0");
}
