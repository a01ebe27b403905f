#include "postgres/auditor/recount.hpp"

#include <algorithm>
#include <utility>

#include "core/fence.hpp"
#include "core/mutant.hpp"
#include "postgres/store/late_rows.hpp"
#include "postgres/table/row_range.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/auditor.hpp"

namespace seriatim::postgres {

namespace {

constexpr unsigned buckets_at_once = 256;

std::optional<Position> position_from(const pqxx::row& row, const char* moment, const char* id) {
  if (row[id].is_null()) return std::nullopt;
  return Position{row[moment].as<std::int64_t>(), row[id].as<std::string>()};
}

std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
  return more - std::min(more, less);
}

}  // namespace

Recount::Recount(Connection& connection, const Table& table, OrderBy order, const LaneId& lane,
                 unsigned late_max)
    : connection_(connection), table_(table), order_(order), lane_(lane), late_max_(late_max) {
  const auto ends_by_then =
      not_after(table, order, "b.to_at", "b.to_id", "$5::timestamptz", "$6::text");
  const auto begins_after =
      not_after(table, order, "$5::timestamptz", "$6::text", "b.from_at", "b.from_id");
  statement_ = range_statement(sql::auditor::recount, table, order, {},
                               {"b.from_at", "b.from_id", "b.to_at", "b.to_id"},
                               {{"ends_by_then", ends_by_then}, {"begins_after", begins_after}});
}

void Recount::walk(std::int64_t number, const std::optional<Position>& up_to, bool pruned_only,
                   const Take& take) {
  for (auto last = number;;) {
    const auto page = connection_.run(
        statement_,
        {lane_.process, std::to_string(lane_.lane), std::to_string(last),
         std::to_string(buckets_at_once),
         up_to ? std::optional(timestamp_text(up_to->created_at_us)) : std::nullopt,
         up_to ? std::optional(up_to->id) : std::nullopt, pruned_only ? "true" : "false"});
    for (const auto& row : page) {
      last = row["number"].as<std::int64_t>();
      take(judged(row));
    }
    if (std::cmp_less(page.size(), buckets_at_once)) return;
  }
}

void Recount::each(std::int64_t number, const std::optional<Position>& up_to, const Take& take) {
  walk(number, up_to, false, take);
}

std::uint64_t Recount::pruned_after(const std::optional<Position>& place) {
  std::uint64_t pruned = 0;
  walk(-1, std::nullopt, true, [&](const RecountedBucket& bucket) {
    if (!place || core::comes_after(bucket.to, *place, order_)) pruned += bucket.pruned;
  });
  return pruned;
}

RecountedBucket Recount::judged(const pqxx::row& row) {
  RecountedBucket bucket;
  bucket.number = row["number"].as<std::int64_t>();
  bucket.lanes = row["lanes"].as<unsigned>();
  bucket.sealed = row["sealed"].as<bool>();
  bucket.open = row["open"].as<bool>();
  bucket.passed = !row["gone"].is_null();
  bucket.from = position_from(row, "from_us", "from_id");
  bucket.to = *position_from(row, "to_us", "to_id");
  bucket.whole = row["whole"].as<bool>();
  const auto gone_before = row["gone"].as<std::int64_t>(0);
  bucket.rows_left = row["rows"].as<std::uint64_t>();
  bucket.pruned = row["pruned"].as<std::uint64_t>();
  // A row that was moved into the bucket's range makes gone_before smaller, so it may be negative.
  bucket.rows = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(bucket.rows_left + bucket.pruned) + gone_before);
  bucket.gone = static_cast<std::uint64_t>(std::max<std::int64_t>(0, gone_before));
  bucket.rows_there = row["rows_there"].as<std::uint64_t>();
  bucket.hash = row["hash"].as<std::int64_t>();
  const auto hash_there = row["hash_there"].as<std::int64_t>();
  judge(bucket, bucket.rows_there == bucket.rows_left && bucket.hash == hash_there);
  const auto missing = difference(bucket.rows_left, bucket.noted_there);
  (bucket.passed ? bucket.pruned : bucket.gone) += missing;
  if (bucket.passed && bucket.late == 0) bucket.hash = hash_there;
  return bucket;
}

void Recount::judge(RecountedBucket& bucket, bool fits) {
  bucket.noted_there = bucket.rows_there;
  if (core::mutant(core::Mutant::counts_alone)) fits = bucket.rows_there == bucket.rows_left;
  if (fits || bucket.rows_there == 0) {
    // A sealed one of which nothing is left proves nothing about what was there.
    if (!fits && bucket.sealed) bucket.verdict = BucketAudit::Verdict::thinned;
    return;
  }
  if (bucket.sealed) {
    if (bucket.rows_there < bucket.rows_left) {
      bucket.verdict = BucketAudit::Verdict::thinned;
      return;
    }
    bucket.verdict = BucketAudit::Verdict::mismatch;
    bucket.mismatch = bucket.rows_there > bucket.rows_left
                          ? "has " + std::to_string(bucket.rows_there) +
                                " rows in the table now: more than were delivered and not pruned"
                          : std::string("has as many rows in the table now, but not the same");
    return;
  }
  NotedRange range;
  if (bucket.from) range.after = Bound{bucket.from->created_at_us, bucket.from->id};
  range.up_to = Bound{bucket.to.created_at_us, bucket.to.id};
  range.first = range.last = bucket.open ? 0 : bucket.number;
  LateRows late_rows(connection_, table_, order_, {lane_.process, lane_.lane, bucket.lanes});
  bucket.late_rows = late_rows.find(range, INT64_MAX, late_max_);
  bucket.late = bucket.late_rows.size();
  bucket.noted_there = difference(bucket.rows_there, bucket.late);
  if (bucket.late > 0) bucket.verdict = BucketAudit::Verdict::late;
}

}  // namespace seriatim::postgres
