#pragma once

#include <functional>
#include <utility>

#include "postgres/wire/connection.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim::postgres {

/// The transaction that holds the cursor row, as a handler sees it.
///
/// Lifetime: that of the connection, which must have the transaction open. Threads: one.
class LentTransaction final : public Transaction {
 public:
  /// `before_first`: called before the first statement a handler ever runs here.
  explicit LentTransaction(Connection& connection, std::function<void()> before_first = {})
      : connection_(connection), before_first_(std::move(before_first)) {}

  void mark(std::chrono::milliseconds time_max) override;
  Answer run(const std::string& statement, const Params& params) override;
  Answer run_over(const std::string& statement, const std::vector<Column>& columns) override;
  void undo() override;

  void begin() { used_ = false; }
  /// Something of the handler's may be in it.
  [[nodiscard]] bool used() const { return used_; }
  [[nodiscard]] bool ever_used() const { return ever_used_; }

 private:
  void use();

  bool used_ = false;
  bool ever_used_ = false;
  Connection& connection_;
  std::function<void()> before_first_;
};

}  // namespace seriatim::postgres
