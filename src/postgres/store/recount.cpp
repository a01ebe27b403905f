#include "postgres/store/recount.hpp"

#include <utility>

#include "postgres/store/noted_ids.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

/// Buckets checked together: most hold 64 rows or more.
constexpr unsigned buckets_max = 64;

std::optional<std::string> moment_of(const std::optional<Bound>& bound) {
  return bound ? std::optional(timestamp_text(bound->created_at_us)) : std::nullopt;
}

std::optional<std::string> id_of(const std::optional<Bound>& bound) {
  return bound ? bound->id : std::nullopt;
}

std::optional<Bound> bound_from(const pqxx::row& row, const char* moment, const char* id) {
  const auto place = position_from(row, moment, id);
  if (!place) return std::nullopt;
  return Bound{place->created_at_us, place->id};
}

}  // namespace

std::optional<Position> position_from(const pqxx::row& row, const char* moment, const char* id) {
  if (row[id].is_null()) return std::nullopt;
  return Position{row[moment].as<std::int64_t>(), row[id].as<std::string>()};
}

Recount::Recount(Connection& connection, const Table& table, const LaneId& lane)
    : connection_(connection),
      lane_(lane),
      buckets_(statement_for(sql::store::recount, table, lane)),
      below_horizon_(statement_for(sql::store::below_horizon, table, lane)),
      late_rows_(statement_for(sql::store::late_rows, table, lane)),
      late_row_(statement_for(sql::store::late_row, table, lane)),
      note_late_rows_(statement_for(sql::store::note_late_rows, table, lane)) {}

std::vector<BucketCount> Recount::buckets(std::int64_t number, unsigned at_most) {
  std::vector<BucketCount> counts;
  for (const auto& row :
       connection_.run(buckets_, {lane_.process, std::to_string(lane_.lane), std::to_string(number),
                                  std::to_string(at_most)})) {
    BucketCount bucket;
    bucket.number = row["number"].as<std::int64_t>();
    bucket.lanes = row["lanes"].as<unsigned>();
    bucket.sealed = row["sealed"].as<bool>();
    bucket.open = row["open"].as<bool>();
    bucket.from = position_from(row, "from_us", "from_id");
    bucket.to = position_from(row, "to_us", "to_id").value_or(Position{});
    bucket.rows = row["rows"].as<std::uint64_t>();
    bucket.hash = row["hash"].as<std::int64_t>();
    bucket.rows_there = row["rows_there"].as<std::uint64_t>();
    bucket.hash_there = row["hash_there"].as<std::int64_t>();
    bucket.refilled = row["refilled"].as<std::uint64_t>();
    bucket.first_refilled = row["first_refilled"].as<std::string>("");
    counts.push_back(std::move(bucket));
  }
  return counts;
}

NotedRange Recount::range_from(const pqxx::row& row) const {
  NotedRange range;
  range.after = bound_from(row, "from_us", "from_id");
  range.up_to = bound_from(row, "to_us", "to_id").value_or(Bound{});
  range.first = row["first"].as<std::int64_t>();
  range.last = row["last"].as<std::int64_t>();
  range.rows = row["rows"].as<std::uint64_t>();
  return range;
}

std::optional<NotedRange> Recount::newest(const Bound& up_to, std::uint64_t rows_about) {
  const bool moment = !up_to.id;
  const auto found = connection_.run(
      sql::store::newest_buckets,
      {lane_.process, std::to_string(lane_.lane), moment ? moment_of(up_to) : std::nullopt,
       std::to_string(rows_about), std::to_string(buckets_max), std::to_string(lane_.lanes)});
  if (found.empty()) return std::nullopt;
  auto range = range_from(found[0]);
  range.up_to = up_to;
  if (!moment) range.last = INT64_MAX;  // whatever is closed meanwhile
  return range;
}

std::optional<NotedRange> Recount::next(std::int64_t number, const std::optional<OrderKey>& before,
                                        std::uint64_t rows_about) {
  const auto found = connection_.run(
      sql::store::next_buckets, {lane_.process, std::to_string(lane_.lane), std::to_string(number),
                                 std::to_string(rows_about), std::to_string(buckets_max),
                                 before ? std::optional(timestamp_text(*before)) : std::nullopt,
                                 std::to_string(lane_.lanes)});
  return found.empty() ? std::nullopt : std::optional(range_from(found[0]));
}

std::vector<Position> Recount::find(const NotedRange& range, std::uint64_t rows_max,
                                    unsigned late_max) {
  return without_noted(connection_.run(
      late_rows_,
      {moment_of(range.after), id_of(range.after), moment_of(range.up_to), range.up_to.id,
       std::to_string(rows_max), lane_.process, std::to_string(lane_.lane),
       std::to_string(range.first), std::to_string(range.last), std::to_string(late_max)}));
}

std::set<std::string> Recount::noted(const std::vector<std::string>& ids) {
  std::set<std::string> noted;
  for (const auto& row : connection_.run(sql::store::delivered_ids,
                                         {lane_.process, array_text(ids), ranges_of(ids)})) {
    noted.insert(row["id"].as<std::string>());
  }
  return noted;
}

/// What is not noted where it is may be noted elsewhere; that lookup is for these few only.
std::vector<Position> Recount::without_noted(const pqxx::result& rows) {
  if (rows.empty()) return {};
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row["id"].as<std::string>());
  const auto delivered = noted(ids);
  std::vector<Position> late;
  for (const auto& row : rows) {
    auto id = row["id"].as<std::string>();
    if (delivered.contains(id)) continue;
    late.push_back({row["created_at_us"].as<std::int64_t>(0), std::move(id)});
  }
  return late;
}

/// With one row more than were noted, and some to name, late ones cannot hide behind delivered
/// ones; nor behind those that are aside, however many these are.
Recount::NotDelivered Recount::not_delivered(const NotedRange& range, unsigned late_max) {
  return without_aside(late_max,
                       [&](unsigned most) { return find(range, range.rows + most, most); });
}

std::vector<Position> Recount::below_horizon(unsigned late_max) {
  return without_aside(late_max,
                       [&](unsigned most) {
                         return without_noted(connection_.run(
                             below_horizon_,
                             {lane_.process, std::to_string(lane_.lane), std::to_string(most)}));
                       })
      .late;
}

Recount::NotDelivered Recount::without_aside(
    unsigned late_max, const std::function<std::vector<Position>(unsigned)>& find_some) {
  for (unsigned most = late_max;; most *= 2) {
    auto late = find_some(most);
    const bool all = late.size() < most;
    const auto aside = leave_out_aside(late);
    if (!late.empty() || all) return {std::move(late), aside};
  }
}

std::uint64_t Recount::leave_out_aside(std::vector<Position>& late) {
  if (late.empty()) return 0;
  std::vector<std::string> ids;
  for (const auto& row : late) ids.push_back(row.id);
  std::set<std::string> aside;
  for (const auto& row : connection_.run(sql::store::aside_ids, {lane_.process, array_text(ids)})) {
    aside.insert(row["id"].as<std::string>());
  }
  return std::erase_if(late, [&](const Position& row) { return aside.contains(row.id); });
}

std::optional<Position> Recount::one(const Position& cursor, const std::string& id) {
  const auto late = without_noted(
      connection_.run(late_row_, {timestamp_text(cursor.created_at_us), cursor.id, id}));
  return late.empty() ? std::nullopt : std::optional(late.front());
}

std::vector<std::string> Recount::note(const std::vector<Position>& rows) {
  std::vector<std::string> moments;
  std::vector<std::string> ids;
  for (const auto& row : rows) {
    moments.push_back(timestamp_text(row.created_at_us));
    ids.push_back(row.id);
  }
  for (const auto& placed : connection_.run(
           note_late_rows_,
           {lane_.process, std::to_string(lane_.lane), array_text(moments), array_text(ids)})) {
    std::erase(ids, placed["id"].as<std::string>());
  }
  return ids;
}

}  // namespace seriatim::postgres
