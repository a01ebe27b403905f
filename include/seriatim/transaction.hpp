#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace seriatim {

/// The database transaction a handler writes in. The one in CallContext moves the cursor when the
/// call has ended, so what is written there is committed with the cursor or not at all: a row takes
/// effect exactly once, whatever is killed when.
///
/// Order: `savepoint` first; after a refusal `rollback_to_savepoint`, before anything else is run.
/// Threads: the lane's. Lifetime: the call. Errors: a lost connection is SessionLost: let it pass.
class Transaction {
 public:
  /// Parameters $1, $2 … in text form; absent: NULL.
  using Params = std::vector<std::optional<std::string>>;
  using Row = std::vector<std::optional<std::string>>;
  /// One value of many rows: text[] (absent: NULL; the views must outlive `run_over`) or bigint[].
  using Column =
      std::variant<std::vector<std::optional<std::string_view>>, std::vector<std::int64_t>>;

  /// What the server said no to. Nothing of the statement remains.
  struct Refusal {
    std::string sqlstate;
    std::string message;  ///< one line, without DETAIL and CONTEXT
  };
  struct Answer {
    std::vector<Row> rows;
    std::size_t rows_affected = 0;
    std::optional<Refusal> refusal;
  };

  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  /// The place to which `rollback_to_savepoint` goes back. No statement after it may run longer
  /// than `time_max`; a `time_max` below 50 ms counts as 50 ms.
  virtual void savepoint(std::chrono::milliseconds time_max) = 0;
  /// One statement, parsed once a session; it must leave the transaction open.
  virtual Answer run(const std::string& statement, const Params& params) = 0;
  /// The same where $1, $2 … are arrays of as many values as there are rows. They travel in binary:
  /// nothing is quoted here or parsed there (a payload of 300 bytes in text form: 2.3 µs of the
  /// server alone).
  virtual Answer run_over(const std::string& statement, const std::vector<Column>& columns) = 0;
  /// Takes back everything since `savepoint`.
  virtual void rollback_to_savepoint() = 0;
};

}  // namespace seriatim
