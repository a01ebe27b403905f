// How a lane gets its cursor row, and what speaks against using one that it finds, or misses.
#include "postgres/store/cursor_repository.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

Claim CursorRepository::claim() {
  connection_.rollback();
  const auto lanes = std::to_string(lane_.lanes);
  const auto backend = connection_.own_backend();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto began = began_text();
    const auto silent = memory_->silent(lane_, leases_.lane);
    const auto taken = connection_.run(
        sql::store::claim,
        lane_and({lanes, holder_, std::to_string(leases_.lane.count()), backend, began,
                  silent ? std::optional(silent->epoch) : std::nullopt,
                  silent ? std::optional(silent->until) : std::nullopt, claimed_ ? "false" : "true",
                  std::to_string(memory_->epoch(lane_))}));
    if (!taken.empty()) {
      remember(taken[0]);
      claimed_ = true;
      return {.granted = true,
              .cursor = cursor_from(taken[0]),
              .holder = holder_,
              .has_parked = taken[0]["has_aside"].as<bool>(),
              .rejoined = taken[0]["joins"].as<bool>(),
              .new_epoch = taken[0]["changes"].as<bool>(),
              .source_clock_us = taken[0]["clock_us"].as<std::int64_t>()};
    }
    const auto rows = connection_.run(sql::store::why_not_claimed, lane_and({lanes, began}));
    for (const auto& row : rows) refuse_strange(row);
    const auto seen = connection_.run(sql::store::read_cursor, lane_and({}));
    if (!seen.empty()) {
      const bool news = memory_->epoch(lane_) != seen[0]["epoch"].as<std::uint64_t>();
      const bool renewed = remember(seen[0]);
      auto holder = seen[0]["holder"].as<std::string>("");
      if (holder == holder_ && news) continue;  // an act, or a claim whose answer was lost
      Claim refused{.cursor = cursor_from(seen[0]), .holder = std::move(holder)};
      refused.holder_lives = renewed;
      return refused;
    }
    if (!rows.empty() || began) refuse_gone();
    if (const auto waits_for = create()) return {false, {}, {}, false, *waits_for};
  }
  throw SessionLost("the cursor row of process \"" + lane_.process + "\" vanished while claiming");
}

std::optional<std::string> CursorRepository::began_text() const {
  const auto began = memory_->began(lane_.process);
  return began ? std::optional(timestamp_text(*began)) : std::nullopt;
}

/// What the process waits for before it can begin; nothing: it has begun, by us or by another.
std::optional<std::string> CursorRepository::create() {
  if (const auto known = why_not_new(connection_, lane_.process); !known.empty()) {
    throw SourceBroken(HaltReason::source_changed, known);
  }
  try {
    auto& start = memory_->start_of(lane_, source_);
    const auto places = start.find(connection_, table_, lane_.process, lane_.lanes);
    if (!places) {
      return "start = \"now\" waits for transactions that write " + table_.name + ": " +
             start.waits_for();
    }
    begin_process(connection_, {lane_.process, source_.start}, *places, std::nullopt,
                  {"begin", holder_, "the process had no cursor"});
  } catch (const SessionLost&) {
    throw;
  } catch (const SourceBroken&) {
    throw;
  } catch (const Error& no_place) {
    throw SourceBroken(HaltReason::config_changed, no_place.what());
  }
  return std::nullopt;
}

bool CursorRepository::remember(const pqxx::row& row) {
  memory_->saw(lane_.process, row["began_us"].as<std::int64_t>());
  memory_->saw_epoch(lane_, row["epoch"].as<std::uint64_t>());
  return memory_->saw(lane_,
                      {row["epoch"].as<std::string>(), row["lease_until"].as<std::string>(""),
                       milliseconds{row["lease_ms"].as<std::int64_t>(0)}});
}

/// A row of the process for which no relay like this one may hold a lane.
void CursorRepository::refuse_strange(const pqxx::row& row) const {
  if (row["retired"].as<bool>()) {
    throw SourceBroken(HaltReason::config_changed, row["detail"].as<std::string>());
  }
  if (const auto cut = row["lanes"].as<unsigned>(); cut != lane_.lanes) {
    throw SourceBroken(HaltReason::config_changed,
                       other_lanes_text(lane_.process, cut, lane_.lanes));
  }
  refuse_reborn(row);
}

void CursorRepository::refuse_reborn(const pqxx::row& row) const {
  const auto began = memory_->began(lane_.process);
  if (began && *began != row["began_us"].as<std::int64_t>()) {
    throw SourceBroken(
        HaltReason::source_changed,
        "the cursor of process \"" + lane_.process +
            "\" was made anew while this relay ran, so nobody knows which rows were "
            "delivered; nothing is sent. If it is to begin again, restart this relay. Else restore "
            "its rows in seriatim.cursor as they were, created_at too: " +
            timestamp_text(*began));
  }
}

void CursorRepository::refuse_gone() const {
  throw SourceBroken(HaltReason::source_changed, row_gone_text(lane_.process));
}

}  // namespace seriatim::postgres
