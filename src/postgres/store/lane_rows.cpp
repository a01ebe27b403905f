#include "postgres/store/lane_rows.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "postgres/store/cursor_repository.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

/// An act in want of a turn hears of it, or tries again after so long. Each time it asks for a turn
/// for so long: one that dies holds the lane up no longer.
constexpr milliseconds try_again{100};
constexpr milliseconds hold_length{3'000};
const std::string control_channel = "seriatim_control";

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
    lane.in_call = row["in_call"].as<bool>();
    lane.called_for = milliseconds{row["called_ms"].as<std::int64_t>(0)};
    lane.backend_gone = row["backend_gone"].as<bool>();
    lane.lease_over = row["lease_over"].as<bool>();
    lane.lease = {row["epoch"].as<std::string>(), row["lease_until"].as<std::string>(""),
                  milliseconds{row["lease_ms"].as<std::int64_t>(0)}};
    lane.updated_at = row["updated_at"].as<std::string>();
    if (!row["renamed_to"].is_null()) lane.renamed_to = row["renamed_to"].as<std::string>();
    lanes.push_back(std::move(lane));
  }
  return lanes;
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

namespace {

/// An act's wait for the calls in flight.
class Turn {
 public:
  Turn(Connection& connection, std::string process, std::optional<unsigned> lane,
       const std::string& who)
      : connection_(connection),
        process_(std::move(process)),
        lane_(lane),
        who_(who + " (pid " + std::to_string(connection.backend_pid()) + ")"),
        deadline_(Clock::now() + connection.lock_timeout()) {}
  ~Turn() {
    try {
      if (asked_) end();
    } catch (const std::exception&) {  // the request ends by itself, soon
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// The rows are locked, and no call is in flight.
  std::vector<LaneRow> take() {
    for (;;) {
      auto lanes = lock();
      const auto busy = std::find_if(lanes.begin(), lanes.end(),
                                     [this](const LaneRow& lane) { return is_in_call(lane); });
      if (busy == lanes.end()) {
        if (std::exchange(asked_, false)) end();  // with the act, or not at all
        return lanes;
      }
      connection_.rollback();
      if (Clock::now() > deadline_) {
        throw SessionLost(busy->holder + " has been calling the handler of lane " +
                              std::to_string(busy->id.lane) + " for " +
                              std::to_string(busy->called_for.count()) + " ms",
                          "55P03");
      }
      ask();
      wait();
    }
  }

 private:
  std::vector<LaneRow> lock() {
    connection_.begin(fill(sql::store::lock_lanes,
                           {{"process", quote_literal(process_)},
                            {"lane", lane_ ? "lane = " + std::to_string(*lane_) : "true"}}));
    auto lanes = read_lanes(connection_, process_);
    for (const auto& lane : lanes) seen_.saw(lane.id, lane.lease);
    if (lane_) std::erase_if(lanes, [&](const auto& one) { return one.id.lane != *lane_; });
    return lanes;
  }
  /// … of a holder that is neither gone nor silent past its lease.
  [[nodiscard]] bool is_in_call(const LaneRow& lane) const {
    const bool silent = lane.lease_over && seen_.silent(lane.id, milliseconds{0});
    return lane.in_call && !lane.holder.empty() && !lane.backend_gone && !silent;
  }
  void ask() {
    asked_ = true;
    connection_.run(sql::store::hold_lanes,
                    {process_, lane_text(), std::to_string(hold_length.count()), who_});
  }
  void end() { connection_.run(sql::store::end_hold, {process_, lane_text(), who_}); }
  void wait() {
    if (!std::exchange(listens_, true)) connection_.listen(control_channel);
    pollfd readable{connection_.socket(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(try_again.count()));
    (void)connection_.notifications();
  }
  [[nodiscard]] std::optional<std::string> lane_text() const {
    return lane_ ? std::optional(std::to_string(*lane_)) : std::nullopt;
  }

  Connection& connection_;
  std::string process_;
  std::optional<unsigned> lane_;
  std::string who_;
  Clock::time_point deadline_;
  CursorMemory seen_;
  bool asked_ = false;
  bool listens_ = false;
};

}  // namespace

std::vector<LaneRow> lock_in_turn(Connection& connection, const std::string& process,
                                  const std::string& who, std::optional<unsigned> lane) {
  return Turn(connection, process, lane, who).take();
}

std::vector<LaneRow> lock_lanes(Connection& connection, const std::string& process) {
  try {
    auto lanes = lock_in_turn(connection, process, "an operator");
    if (lanes.empty()) refuse_unknown(connection, process);
    refuse_retired(lanes);
    return lanes;
  } catch (const SessionLost& e) {
    if (e.sqlstate() != "55P03") throw;  // lock_not_available
    throw Error("process \"" + process + "\" is busy, for longer than its handler_deadline: " +
                e.what() + "; nothing was changed: try again, or stop the relay first");
  }
}

}  // namespace seriatim::postgres
