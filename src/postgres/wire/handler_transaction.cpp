#include "postgres/wire/handler_transaction.hpp"

#include <algorithm>

#include "postgres/wire/binary_array.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

/// The limit of what a handler runs when its deadline is past, and of the statement that takes the
/// limit away before the settlement. With 1 ms a busy server cancelled that too.
constexpr std::int64_t least_ms = 50;

using Said = std::variant<pqxx::result, Connection::Refusal>;

Transaction::Answer answer_from(const Said& said) {
  Transaction::Answer answer;
  if (const auto* refusal = std::get_if<Connection::Refusal>(&said)) {
    answer.refusal = {refusal->sqlstate, refusal->message};
    return answer;
  }
  const auto& result = std::get<pqxx::result>(said);
  answer.rows_affected = static_cast<std::size_t>(result.affected_rows());
  for (const auto& row : result) {
    auto& values = answer.rows.emplace_back();
    for (const auto& field : row) {
      values.push_back(field.is_null() ? std::nullopt : std::optional(field.as<std::string>()));
    }
  }
  return answer;
}

}  // namespace

void HandlerTransaction::use() {
  if (used_) return;
  begin_();
  used_ = true;
}

void HandlerTransaction::savepoint(std::chrono::milliseconds time_max) {
  use();
  const auto left = std::max<std::int64_t>(least_ms, time_max.count());
  connection_.run(fill(sql::wire::savepoint, {{"time_max_ms", std::to_string(left)}}));
}

Transaction::Answer HandlerTransaction::run(const std::string& statement, const Params& params) {
  use();
  return answer_from(connection_.attempt(statement, params));
}

Transaction::Answer HandlerTransaction::run_over(const std::string& statement,
                                                 const std::vector<Column>& columns) {
  use();
  BinaryParams params;
  for (const auto& column : columns) params.push_back(binary_array(column));
  return answer_from(connection_.attempt_binary(statement, params));
}

void HandlerTransaction::rollback_to_savepoint() {
  connection_.run(sql::wire::rollback_to_savepoint);
}

}  // namespace seriatim::postgres
