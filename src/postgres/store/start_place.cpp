#include "postgres/store/start_place.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "postgres/reader/fence_reader.hpp"
#include "postgres/table/position_lookup.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reader.hpp"
#include "sql/store.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr milliseconds ask_interval{20};
constexpr milliseconds age_rounding{1};

/// What the ids of rows are drawn along with: in id order a time says where an id lies.
bool stamped_at_insertion(Connection& connection, const Table& table, const SourceConfig& source) {
  for (const auto& column :
       connection.run(sql::store::check_column, {table.oid, fold_identifier(source.created_at)})) {
    if (column["default_expression"].as<std::string>() != "clock_timestamp()") return false;
  }
  return true;
}

/// The age of the oldest; nothing where the age of one is not shown to our role.
std::optional<milliseconds> oldest_age(const Writers& writers) {
  milliseconds oldest{0};
  for (const auto& blocker : writers.blockers) {
    if (blocker.pid == 0 || blocker.age <= milliseconds{0}) return std::nullopt;
    oldest = std::max(oldest, blocker.age);
  }
  return oldest;
}

std::string names(const std::vector<Blocker>& blockers) {
  std::string text;
  for (const auto& blocker : blockers) {
    text += text.empty() ? "" : ", ";
    text += blocker.pid == 0 ? "prepared '" + blocker.gid + "'"
                             : "pid " + std::to_string(blocker.pid) + ' ' + blocker.application;
  }
  return text;
}

}  // namespace

/// The clock (or the newest id) is read before the writers, as for every fence. A writer of the
/// first read has no bound in the fence, but its rows are not stamped before its transaction began,
/// less the margin for small clock steps.
std::optional<StartFinder::Now> StartFinder::now(Connection& connection, const Table& table) {
  const bool by_id = source_.order_by == OrderBy::id;
  const auto clock = connection.run(sql::wire::clock)[0][0].as<OrderKey>();
  const microseconds margin = source_.insert_latency;
  OrderKey f = clock - margin.count();
  if (by_id) {
    const auto newest = connection.run(statement_for(sql::reader::newest_by_id, table, {}), {});
    f = newest.empty() || newest[0]["id"].is_null() ? 0 : newest[0]["id"].as<OrderKey>() + 1;
  }
  const auto writers = read_writers(connection, table);
  if (!first_read_) first_read_ = f;
  if (fence_.settle(f, writers.holders) > order_key_min) return Now{first_read_, {}};
  const auto age = oldest_age(writers);
  if (!age || (by_id && !stamped_at_insertion(connection, table, source_))) {
    waits_for_ = names(writers.blockers);
    return std::nullopt;
  }
  return Now{std::nullopt,
             timestamp_text(clock - (margin + *age + age_rounding) / microseconds(1))};
}

std::optional<StartFinder::Places> StartFinder::find(Connection& connection, const Table& table,
                                                     const std::string& process,
                                                     unsigned lanes) try {
  const auto place = start_place_from(source_.start);
  if (place.kind == RewindPlace::Kind::start) return Places(lanes);
  if (place.kind == RewindPlace::Kind::time &&
      connection.run(sql::store::is_to_come, {place.text})[0]["to_come"].as<bool>()) {
    throw Error("start = \"" + source_.start +
                "\" is still to come, and rows inserted until then would be delivered; start the "
                "process after that time, or use \"now\"");
  }
  std::optional<Now> now;
  if (place.kind == RewindPlace::Kind::end && !(now = this->now(connection, table))) {
    return std::nullopt;
  }
  std::optional<Position> row;
  if (place.kind == RewindPlace::Kind::row) row = place_of_row(connection, table, place.text);
  const bool by_id = source_.order_by == OrderBy::id;
  Places found;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    PositionLookup places(connection, table, {process, lane, lanes});
    if (row) {
      found.push_back(places.before_row(*row));
    } else if (now && now->mark && by_id) {
      found.push_back(places.before_row({0, std::to_string(*now->mark)}));
    } else if (now) {
      found.push_back(places.before_time(now->mark ? timestamp_text(*now->mark) : now->time));
    } else {
      found.push_back(places.before_time(place.text));
    }
  }
  return found;
} catch (const SourceBroken& broken) {
  if (broken.reason() != HaltReason::bad_payload) throw;  // else: text that is no id, no time
  throw Error("start = \"" + source_.start + "\" is no place in table " + table.name + ": " +
              broken.what() + "; use \"beginning\", \"now\", a row's id or a time");
}

StartFinder::Places find_start(Connection& connection, const Table& table, const Target& target,
                               milliseconds patience) {
  StartFinder finder(target.source);
  const auto deadline = Clock::now() + patience;
  for (;;) {
    if (auto places = finder.find(connection, table, target.process.name, target.process.lanes)) {
      return *std::move(places);
    }
    if (Clock::now() > deadline) {
      throw Error("start = \"now\" waits for transactions that write " + table.name + ": " +
                  finder.waits_for() + "; nothing was changed: try again when they have ended");
    }
    std::this_thread::sleep_for(ask_interval);
  }
}

bool begin_process(Connection& connection, const Beginning& process,
                   const StartFinder::Places& places, const std::optional<std::string>& identity,
                   const BeginAct& act) {
  std::vector<std::optional<std::string>> times;
  std::vector<std::optional<std::string>> ids;
  for (const auto& place : places) {
    times.push_back(place ? std::optional(timestamp_text(place->created_at_us)) : std::nullopt);
    ids.push_back(place ? std::optional(place->id) : std::nullopt);
  }
  return !connection
              .run(sql::store::begin_process,
                   {process.process, std::to_string(places.size()), nullable_array_text(times),
                    nullable_array_text(ids), identity, act.act, act.who, act.why, process.start})
              .empty();
}

std::string why_not_new(Connection& connection, const std::string& process) {
  std::string known;
  if (const auto end = connection.run(sql::store::ledger_end, {process}); !end.empty()) {
    known = "seriatim.ledger notes rows it delivered, up to row " +
            end[0]["to_id"].as<std::string>() + " of " + end[0]["to_at"].as<std::string>();
  } else if (const auto old = connection.run(sql::store::former_name, {process}); !old.empty()) {
    known = "it took the place of process \"" + old[0]["process_name"].as<std::string>() + '"';
  } else {
    const auto claim =
        connection.run(sql::store::latest_act, {process, "claim", std::nullopt, std::nullopt});
    if (claim.empty()) return {};
    known = "seriatim.journal says that it ran at " + claim[0]["at"].as<std::string>();
  }
  if (!connection.run(sql::store::check_cursors, {process}).empty()) return {};  // began meanwhile
  return "process \"" + process + "\" has no cursor, but " + known +
         ": its rows in seriatim.cursor were deleted or not restored (SOURCE_CHANGED). Restore "
         "them; or let it begin again at `start`: seriatim adopt " +
         shell_word(process) + " --reason TEXT";
}

std::string other_lanes_text(const std::string& process, unsigned cut, unsigned configured) {
  return "process \"" + process + "\" was cut into " + std::to_string(cut) +
         " lanes and is now configured with " + std::to_string(configured) +
         ": set `lanes` back, or cut it anew: seriatim lanes " + shell_word(process) + " " +
         std::to_string(configured);
}

std::string row_gone_text(const std::string& process) {
  return "the cursor row of this lane of process \"" + process +
         "\" is gone, so nobody knows which rows were delivered; nothing is sent. Restore it in "
         "seriatim.cursor; or, if the process is to begin again: stop its relays, delete its rows "
         "there, seriatim adopt " +
         shell_word(process) + " --reason TEXT, start them again";
}

}  // namespace seriatim::postgres
