#include "sql/target_database.hpp"

#include <algorithm>
#include <chrono>

#include "seriatim/error.hpp"
#include "sql/target.hpp"

namespace seriatim::handlers {

namespace {

/// Statements of ours, which a sound target never refuses.
std::vector<Transaction::Row> run(Transaction& transaction, std::string_view statement,
                                  const Transaction::Params& params = {}) {
  auto answer = transaction.run(std::string(statement), params);
  if (!answer.refusal) return std::move(answer.rows);
  throw Error("seriatim_position: " + answer.refusal->message + " (SQLSTATE " +
              answer.refusal->sqlstate + ")");
}

Transaction::Params lane_of(const Record& record) {
  return {record.process, std::to_string(record.lane)};
}

void move_position(Transaction& transaction, const Record& last) {
  auto params = lane_of(last);
  params.insert(params.end(),
                {std::to_string(last.sequence), last.id(), std::to_string(last.epoch)});
  run(transaction, sql::target::move_position, params);
}

}  // namespace

BatchOutcome TargetDatabase::apply(std::span<const Record> batch, const CallContext& context) {
  try {
    if (!session_) open(batch.front().process);
    return apply_once(batch, context);
  } catch (
      const std::exception& lost) {  // after COMMIT was sent too: the position shows it next time
    session_.reset();
    return {0, Outcome::retry_later(std::string("the target database: ") + lost.what())};
  }
}

/// A role that may not create tables is fine where the table is there.
void TargetDatabase::open(const std::string& process) {
  session_ = open_database(url_, "seriatim/" + process + "/target");
  auto& transaction = session_->begin();
  if (run(transaction, sql::target::position_exists).at(0).at(0) != "t") {
    run(transaction, sql::target::create_position);
  }
  session_->commit();
}

/// Rows up to the position are there already and count as done.
BatchOutcome TargetDatabase::apply_once(std::span<const Record> batch, const CallContext& context) {
  auto& transaction = session_->begin();
  auto reached = locked_position(transaction, batch.front());
  if (projection_.resets_at(batch.front()) && reached.epoch <= batch.front().epoch) {
    reached.sequence = 0;
  }
  const auto known =
      static_cast<std::size_t>(std::count_if(batch.begin(), batch.end(), [&](const Record& record) {
        return record.sequence <= reached.sequence;
      }));
  if (auto no = refusal(reached, batch, known)) {
    session_->rollback();
    return {0, std::move(no)};
  }
  const auto rest = batch.subspan(known);
  auto written = rest.empty() ? BatchOutcome{} : projection_.apply(transaction, rest, context);
  if (written.done > 0) {
    move_position(transaction, rest[written.done - 1]);
    session_->commit();
  } else {
    session_->rollback();
  }
  return {known + written.done, std::move(written.next)};
}

TargetDatabase::Position TargetDatabase::locked_position(Transaction& transaction,
                                                         const Record& of) {
  auto rows = run(transaction, sql::target::lock_position, lane_of(of));
  if (rows.empty()) {
    run(transaction, sql::target::begin_position, lane_of(of));
    rows = run(transaction, sql::target::lock_position, lane_of(of));
  }
  const auto& row = rows.at(0);
  return {std::stoull(row.at(0).value_or("0")), row.at(1).value_or(""),
          std::stoull(row.at(2).value_or("0"))};
}

std::optional<Outcome> TargetDatabase::refusal(const Position& reached,
                                               std::span<const Record> batch, std::size_t known) {
  const auto& first = batch.front();
  if (reached.epoch > first.epoch) {
    return Outcome::retry_later("a later holder has written to the target (epoch " +
                                std::to_string(reached.epoch) + ", ours " +
                                std::to_string(first.epoch) + ")");
  }
  if (known > 0 && batch[known - 1].sequence == reached.sequence &&
      batch[known - 1].id() != reached.id) {
    return Outcome::poison("the target took row " + reached.id + " as number " +
                           std::to_string(reached.sequence) + " of this lane, and now it is row " +
                           batch[known - 1].id() +
                           ": is seriatim_position there of another process of this name?");
  }
  if (known < batch.size() && batch[known].sequence > reached.sequence + 1) {
    return Outcome::poison(
        "the target has rows up to number " + std::to_string(reached.sequence) +
        " of this lane, and this is number " + std::to_string(batch[known].sequence) +
        ". Was it restored, or begun late: `seriatim rewind` to the row after number " +
        std::to_string(reached.sequence) +
        ". Were those between set aside on purpose: write number " +
        std::to_string(batch[known].sequence - 1) + " into its seriatim_position");
  }
  return std::nullopt;
}

}  // namespace seriatim::handlers
