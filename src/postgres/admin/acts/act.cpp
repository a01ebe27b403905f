#include "postgres/admin/acts/act.hpp"

#include "core/crash_point.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::size_t who_bytes_max = 200;

std::optional<std::string> stored(const std::string& text, std::size_t bytes_max) {
  auto kept = storable_text(text, bytes_max);
  return kept.empty() ? std::nullopt : std::optional(std::move(kept));
}

}  // namespace

std::string lane_name(const LaneRow& lane) {
  return "lane " + std::to_string(lane.id.lane);
}

std::optional<std::string> stored_who(const Actor& actor) {
  return stored(actor.who, who_bytes_max);
}

std::optional<std::string> stored_reason(const Actor& actor) {
  return stored(actor.why, Outcome::reason_bytes_max);
}

pqxx::result change(Connection& connection, std::string_view statement, const LaneRow& lane,
                    const Actor& actor, const Params& more) {
  const auto& position = lane.cursor.position;
  Params params{lane.id.process,
                std::to_string(lane.id.lane),
                std::to_string(lane.cursor.epoch),
                position ? std::optional(timestamp_text(position->created_at_us)) : std::nullopt,
                position ? std::optional(position->id) : std::nullopt,
                stored_who(actor),
                stored_reason(actor)};
  params.insert(params.end(), more.begin(), more.end());
  core::crash_point("before act");
  auto changed = connection.run(statement, params);
  core::crash_point("during act");
  if (changed.empty()) {
    throw Error(lane_name(lane) + " of process \"" + lane.id.process +
                "\" changed meanwhile; nothing was done: look again");
  }
  return changed;
}

}  // namespace seriatim::postgres
