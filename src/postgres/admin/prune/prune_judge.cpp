#include "postgres/admin/prune/prune_judge.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "postgres/table/row_range.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/prune.hpp"
#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

constexpr unsigned segment_rows = 10'000;
constexpr unsigned looks_max = 8;  ///< at a segment whose buckets others change meanwhile

std::int64_t number_from(const std::string& id) {
  std::int64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

}  // namespace

PruneJudge::PruneJudge(Connection& connection, const Table& table, const PruneReaders& readers,
                       OrderBy order_by, const PruneChoice& choice, PruneReport& report)
    : connection_(connection),
      readers_(readers),
      order_by_(order_by),
      choice_(choice),
      report_(report),
      candidates_(range_statement(sql::prune::candidates, table, order_by, {}, range_parameters,
                                  {{"below", readers.below()},
                                   {"free", readers.free()},
                                   {"delivered", readers.delivered()}})) {
  for (const auto& reader : readers_.all()) {
    if (reader.configured == nullptr) continue;
    const bool once =
        !choice.dry_run || reader.order_by != order_by;  // else a row may come to a bucket later
    horizons_.emplace_back(connection, reader, once, choice.dry_run);
  }
}

PruneSegment PruneJudge::look(const std::optional<Position>& after) {
  for (unsigned looks = 0; looks < looks_max; ++looks) {
    if (auto segment = try_look(after)) return std::move(*segment);
  }
  throw Error("buckets of the ledger are in use by others for long; " +
              std::to_string(report_.rows) + " rows were pruned: try again later");
}

/// Absent: the ledger was changed between the look and the move.
std::optional<PruneSegment> PruneJudge::try_look(const std::optional<Position>& after) {
  PruneSegment segment;
  Objections objections;
  std::vector<std::string> problems;
  connection_.begin(sql::reports::begin_audit);
  auto candidates = read(after, segment);
  reach(candidates);
  for (auto& horizon : horizons_) {
    if (candidates.empty()) break;
    horizon.plan(reached_.at(horizon.reader().order_by), objections, problems);
  }
  connection_.rollback();
  const auto seen = report_;
  segment.due = without_objections(candidates, objections);
  for (auto& problem : problems) {
    if (report_.problems.size() < PruneReport::named_max &&
        std::find(report_.problems.begin(), report_.problems.end(), problem) ==
            report_.problems.end()) {
      report_.problems.push_back(std::move(problem));
    }
  }
  if (!choice_.dry_run && !segment.due.empty() && !move()) {
    report_ = seen;
    return std::nullopt;
  }
  return segment;
}

bool PruneJudge::move() try {
  connection_.begin(sql::prune::hold_retention);
  for (auto& horizon : horizons_) {
    if (horizon.apply()) continue;
    connection_.rollback();
    return false;
  }
  connection_.commit();
  return true;
} catch (const SessionLost& lost) {
  if (!is_lock_trouble(lost.sqlstate())) throw;
  connection_.rollback();
  return false;
}

std::vector<PruneJudge::Candidate> PruneJudge::read(const std::optional<Position>& after,
                                                    PruneSegment& segment) {
  std::vector<Candidate> candidates;
  const auto rows = connection_.run(
      candidates_,
      {after ? std::optional(timestamp_text(after->created_at_us)) : std::nullopt,
       after ? std::optional(after->id) : std::nullopt, timestamp_text(report_.older_than_us),
       std::nullopt, std::to_string(segment_rows)});
  for (const auto& row : rows) {
    auto id = row["id"].as<std::string>();
    const auto at = row["created_at_us"].as<std::int64_t>(0);
    segment.last = Position{at, id};
    const bool old = row["old"].as<bool>();
    const bool below = row["below"].as<bool>();
    segment.any_below = segment.any_below || (below && old);
    segment.held = segment.held || (old && !below && id != readers_.lowest_id());
    if (!old || !below) continue;
    if (!row["free"].as<bool>()) {
      report_.set_aside += 1;
      continue;
    }
    candidates.push_back({{std::move(id), at}, row["delivered"].as<bool>()});
  }
  return candidates;
}

/// Rows come in the order of one process; another's may differ.
void PruneJudge::reach(const std::vector<Candidate>& candidates) {
  const auto further = [](OrderBy order, const Position& a, const Position& b) {
    return order == OrderBy::id ? number_from(a.id) < number_from(b.id)
                                : a.created_at_us <= b.created_at_us;
  };
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    for (const auto& candidate : candidates) {
      const Position place{candidate.row.created_at_us, candidate.row.id};
      const auto [known, is_first] = reached_.try_emplace(order, place);
      if (!is_first && further(order, known->second, place)) known->second = place;
    }
  }
}

std::vector<DueRow> PruneJudge::without_objections(std::vector<Candidate>& candidates,
                                                   const Objections& objections) {
  std::vector<DueRow> due;
  for (auto& candidate : candidates) {
    const auto objection = objections.find(candidate.row.id);
    if (objection == objections.end()) {
      if (candidate.delivered || choice_.filtered) {
        due.push_back(std::move(candidate.row));
      } else {
        report_.filtered += 1;
      }
      continue;
    }
    switch (objection->second) {
      case Stays::busy: report_.changed += 1; break;
      case Stays::unproven: report_.unproven += 1; break;
      case Stays::late:
        report_.late += 1;
        if (report_.late_ids.size() < PruneReport::named_max) {
          report_.late_ids.push_back(candidate.row.id);
        }
    }
  }
  return due;
}

}  // namespace seriatim::postgres
