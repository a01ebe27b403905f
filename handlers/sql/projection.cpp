#include "sql/projection.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sql/target.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// Conflicts with others, resources, locks, an operator: the row may be accepted later.
bool may_work_later(const std::string& sqlstate) {
  static constexpr std::array<std::string_view, 7> classes{"08", "25", "40", "53",
                                                           "55", "57", "58"};
  return std::any_of(classes.begin(), classes.end(),
                     [&](std::string_view one) { return sqlstate.starts_with(one); });
}

std::optional<Outcome> judged(const Transaction::Answer& answer, const std::string& what = {}) {
  if (!answer.refusal) return std::nullopt;
  const auto& [sqlstate, message] = *answer.refusal;
  auto reason = what + message + " (SQLSTATE " + sqlstate + ")";
  return may_work_later(sqlstate) ? Outcome::retry_later(std::move(reason))
                                  : Outcome::poison(std::move(reason));
}

milliseconds left_of(const CallContext& context) {
  return duration_cast<milliseconds>(context.deadline - std::chrono::steady_clock::now());
}

}  // namespace

/// Each turn ends it, or goes on more carefully, or with fewer rows than the one before. A batch
/// refused in haste goes row by row, which names the row, or shows that only together they are
/// refused.
BatchOutcome Projection::apply(Transaction& transaction, std::span<const Record> batch,
                               const CallContext& context) const {
  auto pace = batch.size() > 1 ? Pace::in_haste : Pace::row_by_row;
  std::optional<Outcome> failure;
  for (;;) {
    transaction.savepoint(left_of(context));
    auto written = write(transaction, batch, context, pace);
    if (!written.next) return {written.done, std::move(failure)};
    transaction.rollback_to_savepoint();
    if (std::exchange(pace, Pace::row_by_row) == Pace::in_haste) continue;
    failure = std::move(written.next);
    batch = batch.first(written.done);
    if (batch.empty()) return {0, std::move(failure)};
  }
}

/// As far as it goes: how many rows were accepted, and what refused the next.
BatchOutcome Projection::write(Transaction& transaction, std::span<const Record> batch,
                               const CallContext& context, Pace pace) const {
  if (resets_at(batch.front())) {
    if (auto refused = write_reset(transaction)) return {0, std::move(refused)};
  }
  const bool at_once =
      pace == Pace::in_haste && config_.statement && config_.statement->takes_batches();
  std::size_t done = 0;
  while (done < batch.size() && !(done > 0 && context.should_yield())) {
    const auto rows = at_once ? batch : batch.subspan(done, 1);
    auto refused = write_rows(transaction, rows);
    if (!refused && pace == Pace::row_by_row) refused = check_constraints(transaction);
    if (refused) return {done, std::move(refused)};
    done += rows.size();
  }
  if (pace == Pace::row_by_row) return {done, std::nullopt};
  auto refused = check_constraints(transaction);
  return {refused ? 0 : done, std::move(refused)};
}

std::optional<Outcome> Projection::write_reset(Transaction& transaction) const {
  return judged(transaction.run(*config_.reset, {}), "reset: ");
}

/// One row, or a batch for a statement that takes them.
std::optional<Outcome> Projection::write_rows(Transaction& transaction,
                                              std::span<const Record> rows) const {
  try {
    const auto& statement = statement_for(rows.front());
    if (statement.takes_batches()) {
      return judged(transaction.run_over(statement.text(), RecordColumns(rows).values()));
    }
    return judged(transaction.run(statement.text(), statement.params(rows.front())));
  } catch (const CannotRender& e) {
    return Outcome::poison(e.what());
  }
}

Rendering Projection::render(const Record& record) const {
  const auto& statement = statement_for(record);
  Rendering rendering;
  if (resets_at(record)) rendering.envelope.emplace_back("reset", *config_.reset);
  rendering.envelope.emplace_back("statement", statement.text());
  const auto add = [&](const std::optional<std::string_view>& value) {
    auto name = '$' + std::to_string(rendering.headers.size() + 1);
    rendering.headers.emplace_back(std::move(name), value.value_or("NULL"));
  };
  if (!statement.takes_batches()) {
    for (const auto& value : statement.params(record)) add(value);
    return rendering;
  }
  const RecordColumns columns({&record, 1});
  for (const auto& column : columns.values()) {
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&column)) {
      add(std::to_string(numbers->front()));
    } else {
      add(std::get<std::vector<std::optional<std::string_view>>>(column).front());
    }
  }
  return rendering;
}

/// Deferred ones too, while it is known whose rows break them.
std::optional<Outcome> Projection::check_constraints(Transaction& transaction) {
  return judged(transaction.run(std::string(sql::target::check_constraints), {}));
}

const NamedStatement& Projection::statement_for(const Record& record) const {
  if (record.event_type) {
    if (const auto on = config_.on.find(*record.event_type); on != config_.on.end()) {
      return on->second;
    }
  }
  if (config_.statement) return *config_.statement;
  throw CannotRender(
      "no statement for event type \"" + record.event_type.value_or("") +
      "\": name it in `on`, or in `source.ignore` to pass over all rows of it, and restart");
}

}  // namespace seriatim::handlers
