// docs/read-models.md is a walk: its blocks are run from top to bottom, as a reader would.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "support/kafka_mock.hpp"
#include "support/kafka_reader.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

using namespace seriatim::testing;
namespace fs = std::filesystem;

namespace {

constexpr int partitions = 3;

class Walk {
 public:
  Walk() { cluster.make_topic("account-events", partitions); }

  /// Everything its commands wrote.
  std::string follow(const fs::path& page) {
    std::ifstream in(page);
    std::string block;
    for (std::string line, kind; std::getline(in, line);) {
      if (line.starts_with("```")) {
        run_block(kind, block);
        kind = line.substr(3);
        block.clear();
      } else if (!kind.empty()) {
        block += line + '\n';
      }
    }
    return reported_;
  }

  KafkaMock cluster;
  TestDatabase database;

 private:
  void run_block(const std::string& kind, const std::string& block) {
    if (kind == "sql") database.run(block);
    if (kind == "toml") {
      std::ofstream(folder_.path() / "seriatim.toml", std::ios::app) << block;
    }
    if (kind == "sh") run_commands(block);
  }
  void run_commands(const std::string& commands) {
    Process::Options options;
    options.folder = folder_.path();
    options.environment = {
        {"DATABASE_URL", database.url()},
        {"KAFKA_BROKERS", cluster.brokers()},
        {"PATH", fs::path(SERIATIM_PROGRAM).parent_path().string() + ':' + std::getenv("PATH")}};
    const auto ended = run({"sh", "-c", commands}, options);
    reported_ += ended.out + ended.err;
  }

  TemporaryFolder folder_;
  std::string reported_;
};

/// Sequence numbers come in order in each partition, and none is missing.
bool in_order_without_gap(const std::vector<KafkaMessage>& messages) {
  std::map<std::int32_t, int> last;
  std::set<int> numbers;
  for (const auto& message : messages) {
    const auto number = std::stoi(message.header("seriatim-sequence").value());
    if (number <= std::exchange(last[message.partition], number)) return false;
    numbers.insert(number);
  }
  return numbers.size() == messages.size() &&
         *numbers.rbegin() == static_cast<int>(messages.size());
}

const std::string wanted =
    "SELECT string_agg(format('%s %s %s', account, amount, open), ', ' ORDER BY account) FROM"
    " (SELECT account, sum((payload ->> 'amount')::bigint) FILTER (WHERE event_type = 'moved')"
    "  AS amount, NOT bool_or(event_type = 'closed') AS open FROM account_event GROUP BY 1) AS t";

}  // namespace

TEST_CASE("the walk of docs/read-models.md ends where it says") {
  Walk walk;
  const auto said = walk.follow(SERIATIM_SOURCE_DIR "/docs/read-models.md");
  CAPTURE(said);
  for (const auto* text :
       {"lane 0: complete and in order up to ",
        "halted POISON at row 801: no statement for event type \"frozen\"",
        "is left out: its event type \"frozen\" is in source.ignore",
        "762 rows would be delivered again", "amounts were rounded, ticket 17"}) {
    CAPTURE(text);
    CHECK(said.find(text) != std::string::npos);
  }
  CHECK(walk.database.value("SELECT string_agg(format('%s %s %s', account, amount, open), ', '"
                            " ORDER BY account) FROM balance") == walk.database.value(wanted));
  CHECK(walk.database.value("SELECT sum(amount) FROM turnover") ==
        walk.database.value("SELECT sum(amount) FROM balance"));
  const auto messages = KafkaReader(walk.cluster.brokers()).messages("account-events", partitions);
  CHECK(messages.size() == 801);  // nothing is ignored there
  CHECK(in_order_without_gap(messages));
}
