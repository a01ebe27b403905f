#pragma once

#include "postgres/connection.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim::postgres {

/// The transaction that holds the cursor row, as a handler sees it.
///
/// Lifetime: that of the connection, which must have the transaction open. Threads: one.
class LentTransaction final : public Transaction {
 public:
  explicit LentTransaction(Connection& connection) : connection_(connection) {}

  void mark(std::chrono::milliseconds time_max) override;
  Answer run(const std::string& statement, const Params& params) override;
  Answer run_over(const std::string& statement, const std::vector<Column>& columns) override;
  void undo() override;

  void begin() { used_ = false; }
  /// Something of the handler's may be in it.
  [[nodiscard]] bool used() const { return used_; }

 private:
  bool used_ = false;
  Connection& connection_;
};

}  // namespace seriatim::postgres
