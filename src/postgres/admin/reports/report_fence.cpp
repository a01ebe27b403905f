#include "postgres/admin/reports/report_fence.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "postgres/reader/fence_reader.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

using Clock = KnownWriters::Clock;

/// A writer, and whether it is known not to be a short one.
struct Writer {
  Blocker blocker;
  bool lasts = false;
};

bool lasts(const core::Holder& holder, const Blocker& blocker, const KnownWriters& known,
           Clock::time_point now) {
  if (holder.prepared || blocker.age >= short_writer) return true;
  const auto seen = known.first_seen.find(holder.transaction);
  return seen != known.first_seen.end() && now - seen->second >= short_writer;
}

/// The server's clock, and the writers after that.
struct Seen {
  std::int64_t now_us = 0;
  std::vector<Writer> writers;
};

/// Remembers the writers that are there.
Seen read(Connection& connection, const Table& table, KnownWriters& known) {
  Seen result{connection.run(sql::wire::clock)[0][0].as<std::int64_t>(), {}};
  const auto found = read_writers(connection, table);
  const auto now = Clock::now();
  decltype(known.first_seen) seen;
  for (std::size_t i = 0; i < found.holders.size(); ++i) {
    const auto& holder = found.holders[i];
    result.writers.push_back({found.blockers[i], lasts(holder, found.blockers[i], known, now)});
    const auto before = known.first_seen.find(holder.transaction);
    seen.emplace(holder.transaction, before == known.first_seen.end() ? now : before->second);
  }
  known.first_seen = std::move(seen);
  return result;
}

/// One that began later than the row was stamped draws a later place.
bool holds(const Writer& writer, milliseconds row_age) {
  if (!writer.lasts) return false;
  const bool prepared = writer.blocker.pid == 0;
  const auto age = writer.blocker.age;
  return prepared || age == milliseconds{0} || age + milliseconds{1} >= row_age;
}

void set_fenced(LaneReport& report, std::vector<Blocker> blockers) {
  report.lane.state = LaneState::fenced;
  report.lane.fenced_for = report.lag_age.value_or(milliseconds{0});
  report.lane.row_id = report.next_id;
  report.lane.detail = "an earlier row may still come from " + words(blockers.front());
  if (blockers.size() > 1) {
    report.lane.detail += " and " + std::to_string(blockers.size() - 1) + " more";
  }
  report.lane.blockers = std::move(blockers);
}

/// Nobody writes, and still the row waits: its time is yet to come.
void set_future(LaneReport& report, const RowInFront& first, std::int64_t now_us) {
  if (!first.created_at_us || *first.created_at_us <= now_us) return;
  report.lane.state = LaneState::fenced;
  report.lane.row_id = report.next_id;
  report.lane.detail = "row " + first.id + " is stamped " + timestamp_text(*first.created_at_us) +
                       ", " + std::to_string((*first.created_at_us - now_us) / 1'000'000) +
                       " s ahead of the server's clock";
}

}  // namespace

void report_fence(Connection& connection, const Table& table,
                  const std::map<LaneReport*, RowInFront>& lanes, KnownWriters& known) {
  if (lanes.empty()) return;
  const bool first_report = !std::exchange(known.were_read, true);
  auto seen = read(connection, table, known);
  const auto lasts = [](const Writer& writer) { return writer.lasts; };
  if (first_report && !std::all_of(seen.writers.begin(), seen.writers.end(), lasts)) {
    std::this_thread::sleep_for(short_writer);
    seen = read(connection, table, known);
  }
  for (const auto& [report, row] : lanes) {
    const auto stamped = row.created_at_us.value_or(seen.now_us);
    const milliseconds age{std::max<std::int64_t>(0, (seen.now_us - stamped) / 1000)};
    std::vector<Blocker> blockers;
    for (const auto& writer : seen.writers) {
      if (holds(writer, age)) blockers.push_back(writer.blocker);
    }
    if (!blockers.empty()) {
      set_fenced(*report, std::move(blockers));
    } else if (seen.writers.empty()) {
      set_future(*report, row, seen.now_us);
    }
  }
}

}  // namespace seriatim::postgres
