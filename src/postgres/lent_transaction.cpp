#include "postgres/lent_transaction.hpp"

#include <algorithm>

#include "postgres/sql_text.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

Transaction::Answer answer_from(const pqxx::result& result) {
  Transaction::Answer answer;
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

void LentTransaction::mark(std::chrono::milliseconds time_max) {
  used_ = true;
  const auto left = std::max<std::int64_t>(1, time_max.count());  // 0 would be no bound
  connection_.run(fill(sql::mark, {{"time_max_ms", std::to_string(left)}}));
}

Transaction::Answer LentTransaction::run(const std::string& statement, const Params& params) {
  used_ = true;
  const auto said = connection_.attempt(statement, params);
  if (const auto* refusal = std::get_if<Connection::Refusal>(&said)) {
    Answer answer;
    answer.refusal = {refusal->sqlstate, refusal->message};
    return answer;
  }
  return answer_from(std::get<pqxx::result>(said));
}

void LentTransaction::undo() {
  connection_.run(sql::undo);
}

}  // namespace seriatim::postgres
