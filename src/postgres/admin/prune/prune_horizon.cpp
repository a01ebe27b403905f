#include "postgres/admin/prune/prune_horizon.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "core/mutant.hpp"
#include "postgres/store/noted_ids.hpp"
#include "postgres/table/row_range.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/auditor.hpp"
#include "sql/prune.hpp"

namespace seriatim::postgres {

namespace {

std::optional<std::string> at(const std::optional<Position>& place) {
  return place ? std::optional(timestamp_text(place->created_at_us)) : std::nullopt;
}

std::optional<std::string> id(const std::optional<Position>& place) {
  return place ? std::optional(place->id) : std::nullopt;
}

}  // namespace

void PruneHorizon::plan(const Position& up_to, Objections& objections,
                        std::vector<std::string>& problems, const std::optional<std::string>& but) {
  if (lanes_.empty() || !remembers_) read_lanes();
  for (auto& lane : lanes_) plan(lane, up_to, objections, problems, but);
}

void PruneHorizon::read_lanes() {
  lanes_.clear();
  for (const auto& row : connection_.run(sql::prune::lanes, {reader_.process})) {
    Lane lane;
    lane.lane = row["lane"].as<unsigned>();
    lane.ledger_start = row["ledger_start"].as<std::int64_t>();
    lanes_.push_back(std::move(lane));
  }
}

void PruneHorizon::plan(Lane& lane, const Position& up_to, Objections& objections,
                        std::vector<std::string>& problems, const std::optional<std::string>& but) {
  lane.planned.clear();
  Recount recount(connection_, table(), reader_.order_by, id_of(lane, 0), INT_MAX);
  lane.broken_off = false;
  lane.judged_next = lane.judged;
  auto passing = lane.passed;
  auto previous = std::max(lane.judged, lane.ledger_start);
  for (auto after = lane.judged;;) {
    const auto page = recount.next(after, up_to);
    for (const auto& bucket : page) {
      after = bucket.number;
      for (const auto& row : bucket.late_rows) objections[row.id] = Stays::late;
      if (passing && passing->lanes != bucket.lanes) finish(lane, passing, objections, but);
      const bool misfit = bucket.verdict == BucketAudit::Verdict::mismatch;
      if (bucket.open || misfit || (bucket.passed && !bucket.whole)) {
        finish(lane, passing, objections, but);
        lane.broken_off = true;
        if (misfit) problems.push_back(problem(lane, bucket));
        if (misfit) hold(lane, bucket, up_to, Stays::unproven, objections);
        if (bucket.open && !dry_) hold(lane, bucket, up_to, Stays::busy, objections);
      } else {
        if (!passing) passing = Passing{};
        if (!absorb(lane, *passing, bucket, up_to, previous, objections)) passing.reset();
      }
      if (bucket.whole && !bucket.open) lane.judged_next = bucket.number;
      previous = std::max(previous, bucket.number);
    }
    if (page.size() < Recount::buckets_at_once) break;
  }
  finish(lane, passing, objections, but);
}

/// False: the bucket that the place lies in cannot be cut there, since no number is left for what
/// comes before.
bool PruneHorizon::absorb(Lane& lane, Passing& passing, const RecountedBucket& bucket,
                          const Position& up_to, std::int64_t previous, Objections& objections) {
  const bool begins = passing.buckets == 0;
  if (!bucket.whole && begins && bucket.number - 1 <= previous) {
    hold(lane, bucket, up_to, Stays::busy, objections);
    lane.broken_off = true;
    return false;
  }
  if (begins) {
    passing.lanes = bucket.lanes;
    passing.from = passing.fresh_from = bucket.from;
    passing.first = passing.number = bucket.whole ? bucket.number : bucket.number - 1;
  }
  passing.fresh = true;
  passing.pruned += bucket.pruned;
  if (bucket.whole) {
    passing.number = bucket.number;
    passing.buckets += 1;
    passing.rows += bucket.rows;
    passing.there += bucket.noted_there;
    passing.to = bucket.to;
    return true;
  }
  auto lower = rows_there(id_of(lane, bucket.lanes), bucket.from, up_to, objections);
  passing.there += lower.ids.size();
  passing.to = up_to;
  passing.cut = Cut{bucket.number, bucket.rows, bucket.pruned, std::move(lower.ids), lower.hash};
  return true;
}

/// Lists the rows there, all but late ones.
void PruneHorizon::finish(Lane& lane, std::optional<Passing>& passing, const Objections& objections,
                          const std::optional<std::string>& but) {
  if (passing && passing->fresh) {
    const auto there =
        rows_there(id_of(lane, passing->lanes), passing->fresh_from, passing->to, objections, but);
    passing->pruned += passing->there - std::min<std::uint64_t>(passing->there, there.ids.size());
    passing->listed.insert(there.ids.begin(), there.ids.end());
    if (core::mutant(core::Mutant::unlisted_passed)) passing->listed.clear();
    lane.planned.push_back(std::move(*passing));
    lane.broken_off = false;
  }
  passing.reset();
}

PruneHorizon::There PruneHorizon::rows_there(const LaneId& lane,
                                             const std::optional<Position>& from,
                                             const Position& to, const Objections& objections,
                                             const std::optional<std::string>& but) {
  There there;
  const auto statement = range_statement(sql::auditor::rows_there, table(), reader_.order_by, lane);
  for (const auto& row : connection_.run(
           statement, {at(from), id(from), timestamp_text(to.created_at_us), to.id, but})) {
    auto row_id = row["id"].as<std::string>();
    const auto objection = objections.find(row_id);
    if (objection != objections.end() && objection->second == Stays::late) continue;
    there.ids.push_back(std::move(row_id));
    there.hash ^= row["hash"].as<std::int64_t>();
  }
  return there;
}

void PruneHorizon::hold(const Lane& lane, const RecountedBucket& bucket, const Position& up_to,
                        Stays why, Objections& objections) {
  const auto& to = bucket.whole ? bucket.to : up_to;
  for (auto& row_id : rows_there(id_of(lane, bucket.lanes), bucket.from, to, objections).ids) {
    objections.try_emplace(std::move(row_id), why);
  }
}

std::string PruneHorizon::problem(const Lane& lane, const RecountedBucket& bucket) const {
  return "process " + reader_.process + ", lane " + std::to_string(lane.lane) + ": bucket " +
         std::to_string(bucket.number) + " counts " + std::to_string(bucket.rows_left) +
         " rows, and there are " +
         (bucket.rows_there == bucket.rows_left ? "others" : std::to_string(bucket.rows_there)) +
         ": none of them is deleted; see seriatim audit " + shell_word(reader_.process);
}

bool PruneHorizon::apply() {
  for (auto& lane : lanes_) {
    for (auto& passing : lane.planned) {
      if (!apply(lane, passing)) return false;
    }
  }
  return true;
}

bool PruneHorizon::apply(const Lane& lane, Passing& passing) {
  const auto number = [](auto n) { return std::to_string(n); };
  const auto where = number(lane.lane);
  const auto absorbed =
      connection_.run(sql::prune::absorb_buckets,
                      {reader_.process, where, number(passing.first), number(passing.number)})[0];
  if (absorbed["buckets"].as<std::uint64_t>() != passing.buckets ||
      absorbed["rows"].as<std::uint64_t>() != passing.rows) {
    return false;
  }
  auto rows = static_cast<std::int64_t>(passing.rows);
  if (const auto& cut = passing.cut) {
    const auto done = connection_.run(
        sql::prune::cut_bucket, {reader_.process, where, number(cut->number), number(cut->rows),
                                 at(passing.to), passing.to.id, array_text(cut->ids),
                                 ranges_of(cut->ids), number(cut->ids.size()), number(cut->hash)});
    if (done.empty()) return false;
    rows += static_cast<std::int64_t>(cut->pruned) + done[0]["rows"].as<std::int64_t>();
  }
  const auto noted =
      noted_ids({passing.listed.begin(), passing.listed.end()}, table().integer_id());
  const auto gone = rows - static_cast<std::int64_t>(passing.listed.size() + passing.pruned);
  const auto& newest = absorbed["newest_at"];
  connection_.run(
      sql::prune::list_bucket,
      {reader_.process, where, number(passing.lanes), number(passing.number), at(passing.from),
       id(passing.from), at(passing.to), passing.to.id, array_text(noted.listed), noted.ranges,
       number(passing.pruned), number(gone),
       passing.cut || newest.is_null() ? std::nullopt : std::optional(newest.as<std::string>())});
  passing.rows = static_cast<std::uint64_t>(rows);
  return true;
}

void PruneHorizon::passed() {
  for (auto& lane : lanes_) {
    lane.judged = lane.judged_next;
    if (lane.planned.empty() && !lane.broken_off) continue;
    lane.passed.reset();
    if (!lane.planned.empty() && !lane.broken_off && !dry_) {
      lane.passed = std::move(lane.planned.back());
      auto& last = *lane.passed;
      lane.judged = last.first = last.number;
      last.buckets = 1;
      last.there = 0;
      last.fresh = false;
      last.fresh_from = last.to;
      last.cut.reset();
    }
    lane.planned.clear();
  }
}

void PruneHorizon::deleted(const std::vector<std::string>& ids) {
  for (auto& lane : lanes_) {
    if (!lane.passed) continue;
    for (const auto& one : ids) lane.passed->pruned += lane.passed->listed.erase(one);
  }
}

}  // namespace seriatim::postgres
