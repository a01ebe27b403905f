#include "postgres/reader/written_order.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "sql/reader.hpp"

namespace seriatim::postgres {

namespace {

/// So many rows may a group have beyond those of the round. A larger one goes out in the order of
/// its ids.
constexpr std::size_t more_max = 10'000;

OrderKey stamp_of(const Position& position) {
  return position.created_at_us;
}
OrderKey stamp_of(const Record& record) {
  return record.position.created_at_us;
}

/// Stamps that are there twice, in order.
template <class Rows>
std::vector<OrderKey> ties_of(const Rows& rows) {
  std::vector<OrderKey> ties;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto stamp = stamp_of(rows[i]);
    const bool tie = stamp == stamp_of(rows[i - 1]);
    if (tie && (ties.empty() || ties.back() != stamp)) ties.push_back(stamp);
  }
  return ties;
}

}  // namespace

WrittenOrder::WrittenOrder(Connection& connection, const Table& table, const SourceConfig& config,
                           const LaneId& lane)
    : connection_(connection),
      reader_(connection, table, config, lane),
      statement_(statement_for(sql::reader::written_order, table, lane)) {}

/// Nothing if there are more than `at_most`, or if `where` fails on one of them.
WrittenOrder::Written WrittenOrder::read(const std::vector<OrderKey>& stamps,
                                         const std::optional<Position>& after,
                                         std::size_t at_most) try {
  std::vector<std::string> moments;
  for (const auto stamp : stamps) moments.push_back(timestamp_text(stamp));
  const auto rows = connection_.run(
      statement_, {array_text(moments),
                   after ? std::optional(timestamp_text(after->created_at_us)) : std::nullopt,
                   after ? std::optional(after->id) : std::nullopt, std::to_string(at_most + 1)});
  Written order;
  if (rows.size() > at_most) return order;
  for (const auto& row : rows) {
    auto id = row["id"].as<std::string>();
    order.places.emplace(id, order.ids.size());
    order.behind.push_back(row["behind"].as<bool>());
    order.ids.push_back(std::move(id));
  }
  return order;
} catch (const SourceBroken& broken) {
  if (broken.reason() != HaltReason::bad_payload) throw;
  return {};
}

void WrittenOrder::sort(PollResult& round, const std::optional<Position>& after, bool goes_on) {
  auto& records = round.records;
  if (records.empty()) return;
  auto stamps = ties_of(records);
  const auto last = stamp_of(records.back());
  const bool last_is_open = goes_on || round.unreadable;
  if (last_is_open && (stamps.empty() || stamps.back() != last)) stamps.push_back(last);
  std::erase(stamps, unsorted_);
  if (stamps.empty()) return;
  const auto order = read(stamps, after, records.size() + more_max);
  if (order.ids.empty()) unsorted_ = last;
  if (order.ids.empty() || !read_missing(round, order, after)) return;

  const std::set<OrderKey> sorted(stamps.begin(), stamps.end());
  const auto is_gone = [&](const Record& record) {  // deleted, or changed, since it was read
    return sorted.contains(stamp_of(record)) && !order.places.contains(record.id());
  };
  std::erase_if(records, is_gone);
  const auto place_of = [&](const Record& record) {
    const auto place = order.places.find(record.id());
    return std::pair(stamp_of(record), place == order.places.end() ? 0 : place->second);
  };
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record& a, const Record& b) { return place_of(a) < place_of(b); });
  for (auto& record : records) {
    const auto place = order.places.find(record.id());
    if (place != order.places.end()) record.late = order.behind[place->second];
  }
}

/// Reads rows of a group that the round does not hold. False: they do not fit. If one of them
/// cannot be read, the lane halts before the last group.
bool WrittenOrder::read_missing(PollResult& round, const Written& order,
                                const std::optional<Position>& after) {
  auto& records = round.records;
  std::set<std::string> here;
  for (const auto& record : records) here.insert(record.id());
  std::vector<std::string> missing;
  std::copy_if(order.ids.begin(), order.ids.end(), std::back_inserter(missing),
               [&](const std::string& id) { return !here.contains(id); });
  if (missing.empty()) return true;
  auto batch = reader_.read_ids(missing, after, static_cast<unsigned>(missing.size()));
  if (batch.unreadable) {
    const auto last = stamp_of(records.back());
    std::erase_if(records, [&](const Record& record) { return stamp_of(record) == last; });
    round.unreadable = std::move(batch.unreadable);
    return true;
  }
  if (batch.records.size() < missing.size()) return false;
  std::move(batch.records.begin(), batch.records.end(), std::back_inserter(records));
  return true;
}

void WrittenOrder::sort(std::vector<Position>& late) {
  const auto stamps = ties_of(late);
  if (stamps.empty()) return;
  const auto order = read(stamps, std::nullopt, late.size() + more_max);
  const auto place_of = [&](const Position& row) {
    const auto place = order.places.find(row.id);
    return std::pair(row.created_at_us, place == order.places.end() ? 0 : place->second);
  };
  std::stable_sort(late.begin(), late.end(),
                   [&](const Position& a, const Position& b) { return place_of(a) < place_of(b); });
}

}  // namespace seriatim::postgres
