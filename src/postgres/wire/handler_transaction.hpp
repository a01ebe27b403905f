#pragma once

#include <functional>
#include <utility>

#include "postgres/wire/connection.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim::postgres {

/// The transaction that holds the cursor row, as a handler sees it. It begins with the handler's
/// first statement.
///
/// Lifetime: that of the connection. Threads: one.
class HandlerTransaction final : public Transaction {
 public:
  /// `begin`: opens it on the connection, or throws.
  HandlerTransaction(Connection& connection, std::function<void()> begin)
      : connection_(connection), begin_(std::move(begin)) {}

  void savepoint(std::chrono::milliseconds time_max) override;
  Answer run(const std::string& statement, const Params& params) override;
  Answer run_over(const std::string& statement, const std::vector<Column>& columns) override;
  void rollback_to_savepoint() override;

  /// What the handler did is still to be settled.
  [[nodiscard]] bool used() const { return used_; }
  /// It has ended, or another call begins.
  void forget() { used_ = false; }

 private:
  void use();

  bool used_ = false;
  Connection& connection_;
  std::function<void()> begin_;
};

}  // namespace seriatim::postgres
