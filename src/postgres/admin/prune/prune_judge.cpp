#include "postgres/admin/prune/prune_judge.hpp"

#include <algorithm>
#include <charconv>

#include "postgres/store/recount.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/prune.hpp"
#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

constexpr unsigned segment_rows = 10'000;

std::int64_t number_from(const std::string& id) {
  std::int64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

}  // namespace

PruneJudge::PruneJudge(Connection& connection, const Table& table, const PruneReaders& readers,
                       const PruneChoice& choice, PruneReport& report)
    : connection_(connection),
      table_(table),
      readers_(readers),
      choice_(choice),
      report_(report),
      candidates_(statement_for(sql::prune::candidates, table, {},
                                {{"below", readers.below()}, {"free", readers.free()}})) {}

PruneSegment PruneJudge::judge(const std::optional<Position>& after) {
  PruneSegment segment;
  Candidates candidates;
  connection_.begin(sql::reports::begin_audit);
  read(after, segment, candidates);
  for (const auto& reader : readers_.all()) {
    if (!candidates.empty() && reader.configured != nullptr) ask(reader, candidates);
  }
  connection_.rollback();
  for (auto& [id, candidate] : candidates) {
    if (candidate.stays) continue;
    if (!candidate.delivered && !choice_.filtered) {
      report_.filtered += 1;
      continue;
    }
    segment.due.push_back(std::move(candidate.row));
  }
  std::sort(segment.due.begin(), segment.due.end(),
            [&](const PrunableRow& a, const PrunableRow& b) {
              if (table_.by_id) return number_from(a.id) < number_from(b.id);
              return a.created_at_us < b.created_at_us;
            });
  return segment;
}

void PruneJudge::read(const std::optional<Position>& after, PruneSegment& segment,
                      Candidates& candidates) {
  const auto rows = connection_.run(
      candidates_, {after ? std::optional(timestamp_text(after->created_at_us)) : std::nullopt,
                    after ? std::optional(after->id) : std::nullopt,
                    timestamp_text(report_.older_than_us), std::to_string(segment_rows)});
  for (const auto& row : rows) {
    auto id = row["id"].as<std::string>();
    const auto at = row["created_at_us"].as<std::int64_t>(0);
    segment.last = Position{at, id};
    segment.checked += 1;
    const bool old = row["old"].as<bool>();
    const bool below = row["below"].as<bool>();
    segment.any_below = segment.any_below || (below && old);
    segment.held = segment.held || (old && !below && id != readers_.lowest_id());
    if (!old || !below) continue;
    if (!row["free"].as<bool>()) {
      report_.set_aside += 1;
      continue;
    }
    Candidate candidate;
    candidate.row = {id, at, row["hash"].as<std::int64_t>(), {}};
    candidates.emplace(std::move(id), std::move(candidate));
  }
}

pqxx::result PruneJudge::places(const Reader& reader, const Candidates& candidates) {
  const auto& table = reader.configured->table;
  std::vector<std::string> ids;
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  for (const auto& [id, candidate] : candidates) {
    const auto place = table.by_id ? number_from(id) : candidate.row.created_at_us;
    first = std::min(first, place);
    last = std::max(last, place);
    ids.push_back(id);
  }
  const auto text = [&](std::int64_t place) {
    return table.by_id ? std::to_string(place) : timestamp_text(place);
  };
  return connection_.run(statement_for(sql::prune::places, table, {}),
                         {reader.process, array_text(ids), text(first), text(last)});
}

/// What one process's ledger says of the candidates.
void PruneJudge::ask(const Reader& reader, Candidates& candidates) {
  std::vector<std::string> unnoted;
  std::map<std::pair<std::string, std::string>, bool> fits;  // sealed buckets
  for (const auto& row : places(reader, candidates)) {
    const auto id = row["id"].as<std::string>();
    auto& candidate = candidates.at(id);
    candidate.delivered = true;
    const bool noted = row["noted"].as<bool>();
    const bool present = row["present"].as<bool>();
    const bool below_horizon = row["below_horizon"].as<bool>();
    if (!noted && !present && !below_horizon) continue;  // from before there was a ledger
    if (!noted && !row["sealed"].as<bool>()) {
      unnoted.push_back(id);
      continue;
    }
    const auto lane = row["lane"].as<std::string>();
    if (row["number"].is_null()) {  // the open bucket: of a lane at work just now, or of a dry run
      candidate.stays = candidate.stays || !choice_.dry_run;
      if (!choice_.dry_run) report_.changed += 1;
      continue;
    }
    const auto number = row["number"].as<std::string>();
    if (!noted) {
      const auto [known, is_new] = fits.try_emplace({lane, number}, false);
      if (is_new) known->second = sealed_fits(reader, lane, number);
      if (!known->second) {
        if (!candidate.stays) report_.unproven += 1;
        candidate.stays = true;
        continue;
      }
    }
    candidate.row.notes.push_back({&reader.process, lane, number});
  }
  if (!unnoted.empty()) judge_late(reader, candidates, unnoted);
}

/// Not noted where it is. One whose key or created_at was changed since is noted elsewhere.
void PruneJudge::judge_late(const Reader& reader, Candidates& candidates,
                            const std::vector<std::string>& unnoted) {
  const auto delivered =
      Recount(connection_, reader.configured->table, {reader.process, 0, 1}).noted(unnoted);
  for (const auto& id : unnoted) {
    auto& candidate = candidates.at(id);
    if (delivered.contains(id) || candidate.stays) continue;
    candidate.stays = true;
    report_.late += 1;
    if (report_.late_ids.size() < PruneReport::named_max) report_.late_ids.push_back(id);
  }
}

/// As `seriatim audit` judges: fewer rows than were noted prove nothing, more or others do.
bool PruneJudge::sealed_fits(const Reader& reader, const std::string& lane,
                             const std::string& number) {
  const LaneId of_lane{reader.process, static_cast<unsigned>(number_from(lane)), 1};
  const auto found =
      Recount(connection_, reader.configured->table, of_lane).buckets(number_from(number) - 1, 1);
  if (found.empty() || std::to_string(found[0].number) != number) return false;
  const auto& bucket = found[0];
  if ((bucket.rows_there < bucket.rows && bucket.refilled == 0) || bucket.fits()) return true;
  if (report_.problems.size() < PruneReport::named_max) {
    report_.problems.push_back(
        "process " + reader.process + ", lane " + lane + ": bucket " + number + " counts " +
        std::to_string(bucket.rows) + " rows, and there are " +
        (bucket.rows_there == bucket.rows ? "others" : std::to_string(bucket.rows_there)) +
        ": none of them is deleted; see seriatim audit " + shell_word(reader.process));
  }
  return false;
}

}  // namespace seriatim::postgres
