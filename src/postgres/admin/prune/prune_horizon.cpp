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

bool is_lock_trouble(const std::string& sqlstate) {
  return sqlstate == "55P03" || sqlstate == "40P01" || sqlstate == "40001";
}

void PruneHorizon::plan(const Position& up_to, Objections& objections,
                        std::vector<std::string>& problems, const std::optional<std::string>& but) {
  planned_.clear();
  if (moves_) lanes_.clear();
  if (lanes_.empty()) {
    for (const auto& row : connection_.run(sql::prune::lanes, {reader_.process})) {
      lanes_.push_back({{reader_.process, row["lane"].as<unsigned>(), 0},
                        row["ledger_start"].as<std::int64_t>()});
    }
  }
  for (auto& lane : lanes_) plan(lane, up_to, objections, problems, but);
}

void PruneHorizon::plan(Lane& lane, const Position& up_to, Objections& objections,
                        std::vector<std::string>& problems, const std::optional<std::string>& but) {
  Recount recount(connection_, reader_.configured->table, reader_.order_by, lane.id, INT_MAX);
  Held passing;
  auto previous = std::max(lane.judged, lane.before_first);
  recount.each(lane.judged, up_to, [&](const RecountedBucket& bucket) {
    lane.id.lanes = bucket.lanes;
    for (const auto& row : bucket.late_rows) objections[row.id] = Stays::late;
    if (passing && passing->lane.lanes != bucket.lanes) finish(passing, objections, but);
    // The part before the place needs a number of its own, between those of its neighbours.
    const bool no_number = !bucket.whole && !passing && bucket.number - 1 <= previous;
    const bool misfit = bucket.verdict == BucketAudit::Verdict::mismatch;
    const bool passed_further = bucket.passed && !bucket.whole;
    if (bucket.open || misfit || passed_further || no_number) {
      finish(passing, objections, but);
      if (misfit) problems.push_back(problem(lane.id, bucket));
      if (!passed_further && !(bucket.open && dry_)) {
        const auto& to = bucket.whole ? bucket.to : up_to;
        for (auto& id : rows_there(lane.id, bucket.from, to, objections, std::nullopt).ids) {
          objections.try_emplace(std::move(id), misfit ? Stays::unproven : Stays::busy);
        }
      }
    } else {
      if (!passing) {
        passing = Passing{lane.id};
        passing->from = bucket.from;
        passing->first = passing->number = bucket.whole ? bucket.number : bucket.number - 1;
      }
      absorb(*passing, bucket, up_to, objections);
    }
    previous = std::max(previous, bucket.number);
    if (!moves_ && bucket.whole) lane.judged = bucket.number;
  });
  finish(passing, objections, but);
}

void PruneHorizon::absorb(Passing& passing, const RecountedBucket& bucket, const Position& up_to,
                          const Objections& objections) {
  passing.pruned += bucket.pruned;
  if (bucket.whole) {
    passing.number = bucket.number;
    passing.buckets += 1;
    passing.rows += bucket.rows;
    passing.there += bucket.noted_there;
    passing.to = bucket.to;
    return;
  }
  passing.below = rows_there(passing.lane, bucket.from, up_to, objections, std::nullopt);
  passing.there += passing.below.ids.size();
  passing.cut = bucket;
  passing.to = up_to;
}

/// Lists the rows there, all but late ones.
void PruneHorizon::finish(Held& passing, const Objections& objections,
                          const std::optional<std::string>& but) {
  if (!passing) return;
  auto& listed = passing->listed;
  listed = rows_there(passing->lane, passing->from, passing->to, objections, but).ids;
  passing->pruned += passing->there - std::min<std::uint64_t>(passing->there, listed.size());
  if (core::mutant(core::Mutant::unlisted_passed)) listed.clear();
  planned_.push_back(std::move(*passing));
  passing.reset();
}

PruneHorizon::There PruneHorizon::rows_there(const LaneId& lane,
                                             const std::optional<Position>& from,
                                             const Position& to, const Objections& objections,
                                             const std::optional<std::string>& but) {
  There there;
  const auto statement =
      range_statement(sql::auditor::rows_there, reader_.configured->table, reader_.order_by, lane);
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

std::string PruneHorizon::problem(const LaneId& lane, const RecountedBucket& bucket) const {
  return "process " + reader_.process + ", lane " + std::to_string(lane.lane) + ": bucket " +
         std::to_string(bucket.number) + " counts " + std::to_string(bucket.rows_left) +
         " rows, and there are " +
         (bucket.rows_there == bucket.rows_left ? "others" : std::to_string(bucket.rows_there)) +
         ": none of them is deleted; see seriatim audit " + shell_word(reader_.process);
}

bool PruneHorizon::apply() {
  return std::all_of(planned_.begin(), planned_.end(),
                     [&](const auto& passing) { return apply(passing); });
}

bool PruneHorizon::apply(const Passing& passing) {
  const auto text = [](auto number) { return std::to_string(number); };
  const auto lane = text(passing.lane.lane);
  const auto absorbed =
      connection_.run(sql::prune::absorb_buckets,
                      {reader_.process, lane, text(passing.first), text(passing.number)})[0];
  if (absorbed["buckets"].as<std::uint64_t>() != passing.buckets ||
      absorbed["rows"].as<std::uint64_t>() != passing.rows) {
    return false;
  }
  auto rows = passing.rows;
  if (const auto& cut = passing.cut) {
    const auto& below = passing.below;
    const auto done = connection_.run(
        sql::prune::cut_bucket,
        {reader_.process, lane, text(cut->number), text(cut->rows), at(passing.to), passing.to.id,
         array_text(below.ids), ranges_of(below.ids), text(below.ids.size()), text(below.hash)});
    if (done.empty()) return false;
    rows += cut->pruned + done[0]["rows"].as<std::uint64_t>();
  }
  const auto noted = noted_ids(passing.listed, reader_.configured->table.integer_id());
  const auto gone = static_cast<std::int64_t>(rows - passing.listed.size() - passing.pruned);
  const auto& newest = absorbed["newest_at"];
  connection_.run(
      sql::prune::list_bucket,
      {reader_.process, lane, text(passing.lane.lanes), text(passing.number), at(passing.from),
       id(passing.from), at(passing.to), passing.to.id, array_text(noted.listed), noted.ranges,
       text(passing.pruned), text(gone),
       passing.cut || newest.is_null() ? std::nullopt : std::optional(newest.as<std::string>())});
  return true;
}

}  // namespace seriatim::postgres
