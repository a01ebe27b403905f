#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contract/broker_under_test.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

namespace seriatim::testing {

/// Rows of a table on their way to a broker by the real program.
class RelayStage {
 public:
  static constexpr std::size_t batch_rows = 100;

  RelayStage(const BrokerUnderTest& broker, std::size_t row_count);

  std::unique_ptr<RelayProgram> start(const RelayProgram::Hooks& hooks);
  bool all_delivered();
  /// Of the cursor; "" where there is none.
  std::string sequence() { return database_.value("SELECT sequence FROM seriatim.cursor"); }
  /// The rows as a handler is given them.
  [[nodiscard]] std::vector<Record> records();

  const std::size_t rows;

 private:
  TestDatabase database_;
  TemporaryFolder folder_;
  std::string toml_;
  int started_ = 0;
};

}  // namespace seriatim::testing
