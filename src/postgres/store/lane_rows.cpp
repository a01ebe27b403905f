#include "postgres/store/lane_rows.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "postgres/store/cursor_repository.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds waited_least{1};      ///< for a lock that somebody held
constexpr milliseconds on_the_way_max{500};  ///< a statement that was sent already
constexpr int turns_given = 3;

std::string of_process(std::string_view statement, const std::string& process) {
  return fill(statement, {{"process", quote_literal(process)}});
}

std::vector<LaneRow> lanes_from(const std::string& process, const pqxx::result& rows) {
  std::vector<LaneRow> lanes;
  for (const auto& row : rows) {
    LaneRow lane;
    lane.id = {process, row["lane"].as<unsigned>(), row["lanes"].as<unsigned>()};
    lane.cursor = cursor_from(row);
    lane.holder = row["holder"].as<std::string>("");
    lane.holder_alive = row["holder_alive"].as<bool>();
    lane.updated_at = row["updated_at"].as<std::string>();
    if (!row["renamed_to"].is_null()) lane.renamed_to = row["renamed_to"].as<std::string>();
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

/// Its next statement is on the way already, in the message that let the lock go; so it is busy.
bool holder_waits(Connection& connection, const Params& lane) {
  const auto end = Clock::now() + on_the_way_max;
  do {
    connection.run(sql::store::look_at_activity_anew);
    const auto holders = connection.run(sql::store::holders_that_wait, lane)[0];
    if (holders["waits"].as<bool>()) return true;
    if (!holders["busy"].as<bool>()) return false;
    std::this_thread::sleep_for(milliseconds{2});
  } while (Clock::now() < end);
  return false;
}

/// Waits for what the holder had to do. Asking at once may get the row before it has woken up.
void let_go_before(Connection& connection, const Params& lane) {
  const auto version = [&] { return connection.run(sql::store::cursor_versions, lane)[0][0]; };
  const auto before = version().as<std::string>("");
  connection.rollback();
  const auto end = Clock::now() + on_the_way_max;
  while (version().as<std::string>("") == before && Clock::now() < end) {
    std::this_thread::sleep_for(milliseconds{2});
  }
}

[[noreturn]] void refuse_unknown(Connection& connection, const std::string& process) {
  std::string known;
  for (const auto& row : connection.run(sql::store::process_names)) {
    known += (known.empty() ? "" : ", ") + row[0].as<std::string>();
  }
  throw Error("process \"" + process + "\" has no cursor in this database, so it never ran; " +
              (known.empty() ? "none did: start `seriatim run`" : "known are: " + known));
}

}  // namespace

std::vector<LaneRow> read_lanes(Connection& connection, const std::string& process) {
  return lanes_from(process, connection.run(of_process(sql::store::lane_rows, process)));
}

void refuse_retired(const std::vector<LaneRow>& lanes) {
  for (const auto& lane : lanes) {
    if (lane.renamed_to) throw Error(lane.cursor.detail);
  }
}

/// A holder that takes back a move it sent ahead lets its lock go for an instant, with rows
/// delivered that are not committed; an act that came in between would have them delivered again.
std::vector<LaneRow> lock_in_turn(Connection& connection, const std::string& process,
                                  std::optional<unsigned> lane) {
  const Params which{process, lane ? std::optional(std::to_string(*lane)) : std::nullopt};
  for (int turn = 1;; ++turn) {
    const auto asked = Clock::now();
    connection.begin(fill(sql::store::lock_lanes,
                          {{"process", quote_literal(process)},
                           {"lane", lane ? "lane = " + std::to_string(*lane) : "true"}}));
    const bool waited = Clock::now() - asked >= waited_least;
    auto lanes = read_lanes(connection, process);
    if (lane) std::erase_if(lanes, [&](const auto& one) { return one.id.lane != *lane; });
    if (lanes.empty() || lanes.front().renamed_to) return lanes;
    if (!waited || turn == turns_given || !holder_waits(connection, which)) return lanes;
    let_go_before(connection, which);
  }
}

std::vector<LaneRow> lock_lanes(Connection& connection, const std::string& process) {
  try {
    auto lanes = lock_in_turn(connection, process);
    if (lanes.empty()) refuse_unknown(connection, process);
    refuse_retired(lanes);
    return lanes;
  } catch (const SessionLost& e) {
    if (e.sqlstate() != "55P03") throw;  // lock_not_available
    throw Error("a call of process \"" + process +
                "\" is in hand and longer than its deadline; nothing was changed: try again, or "
                "stop the relay first");
  }
}

}  // namespace seriatim::postgres
