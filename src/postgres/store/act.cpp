#include "postgres/store/act.hpp"

#include <poll.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "core/crash_point.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

namespace json = boost::json;

/// No further call is announced for so long after an act has asked: one that dies holds the lanes
/// up no longer.
constexpr milliseconds hold_length{3'000};
/// A settlement that sees the request notifies. This finds a holder that died instead, and renews
/// the request.
constexpr milliseconds try_again{1'000};
/// … and all there is behind a pooler.
constexpr milliseconds try_again_unheard{100};
/// Between two of these it is asked whether to go on waiting.
constexpr milliseconds lock_wait{1'000};
constexpr milliseconds slice{100};
const std::string control_channel = "seriatim_control";

constexpr std::size_t who_bytes_max = 200;

std::optional<std::string> stored(const std::string& text, std::size_t bytes_max) {
  auto kept = storable_text(text, bytes_max);
  return kept.empty() ? std::nullopt : std::optional(std::move(kept));
}

std::string wait_for_lock(milliseconds length) {
  return fill(sql::store::lock_wait, {{"ms", std::to_string(length.count())}});
}

std::optional<std::string> array_of(const std::optional<unsigned>& lane) {
  return lane ? std::optional("{" + std::to_string(*lane) + "}") : std::nullopt;
}

template <class T>
void put(json::object& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

std::string json_of(const std::vector<Expectation>& expected) {
  json::array list;
  for (const auto& seen : expected) {
    json::object one;
    put(one, "lane", seen.lane);
    put(one, "epoch", seen.epoch);
    put(one, "state", seen.state);
    put(one, "attempts", seen.attempts);
    if (seen.row) one["row"] = seen.row->empty() ? json::value(nullptr) : json::value(*seen.row);
    list.push_back(std::move(one));
  }
  return json::serialize(list);
}

json::object json_of(const Columns& columns) {
  json::object object;
  for (const auto& [name, value] : columns) {
    auto& column = object[name];
    const bool is_json = name == "identity" || name == "ahead";
    if (value) column = is_json ? json::parse(*value) : json::value(*value);
  }
  return object;
}

std::string json_of(const std::vector<LaneChange>& changes) {
  json::array list;
  for (const auto& change : changes) {
    json::object one{{"lane", change.lane}};
    one["set"] = json_of(change.set);
    one["detail"] = json::parse(change.detail);
    put(one, "row", change.row);
    if (change.gone) one["gone"] = true;
    list.push_back(std::move(one));
  }
  return json::serialize(list);
}

/// Of the answer of seriatim.act().
void refuse_unexpected(const pqxx::result& answer, const std::string& process) {
  for (const auto& row : answer) {
    if (row["refusal"].is_null()) continue;
    throw NotAsExpected("lane " + row["lane"].as<std::string>() + " of process \"" + process +
                        "\" is not as expected: " + row["refusal"].as<std::string>() +
                        "; nothing was done: check again");
  }
}

}  // namespace

std::optional<std::string> stored_who(const Actor& actor) {
  return stored(actor.who, who_bytes_max);
}

std::optional<std::string> stored_reason(const Actor& actor) {
  return stored(actor.why, Outcome::reason_bytes_max);
}

Act::Act(Connection& connection, std::string process, Actor actor, KeepWaiting keep_waiting,
         std::optional<unsigned> lane)
    : connection_(connection),
      process_(std::move(process)),
      actor_(std::move(actor)),
      keep_waiting_(std::move(keep_waiting)),
      lane_(lane),
      asks_as_(stored_who(actor_).value_or("an operator") + " (pid " +
               std::to_string(connection.backend_pid()) + ")") {}

Act::~Act() {
  try {
    connection_.rollback();
    if (asked_) ask(milliseconds{0});
  } catch (const std::exception&) {  // the request ends by itself, soon
  }
}

std::vector<LaneRow> Act::take_turn() {
  const auto deadline = Clock::now() + connection_.lock_timeout();
  while (const auto obstacle = lock()) {
    if (Clock::now() > deadline) throw ActRefused("it waited too long for " + obstacle->what);
    // Before it asks, for the answer may come at once.
    if (obstacle->is_call && !listens_) listens_ = connection_.listen(control_channel);
    // The settlement that ends this call may not have seen the first request.
    const bool heard = asked_ || !obstacle->is_call;
    if (obstacle->is_call) ask(hold_length);
    if (heard) wait(*obstacle);
  }
  connection_.run(wait_for_lock(connection_.lock_timeout()));
  auto lanes = read_lanes(connection_, process_);
  refuse_missing(lanes);
  if (lane_) std::erase_if(lanes, [&](const auto& lane) { return lane.id.lane != *lane_; });
  return lanes;
}

void Act::compare_expected() {
  const auto names_lane = [](const Expectation& seen) { return seen.lane.has_value(); };
  const auto& expected = actor_.expected;
  if (std::none_of(expected.begin(), expected.end(), names_lane)) return;
  refuse_unexpected(connection_.run(sql::store::act, {process_, "", std::nullopt, std::nullopt,
                                                      "[]", json_of(expected), silent_}),
                    process_);
}

void Act::refuse_missing(const std::vector<LaneRow>& lanes) const {
  for (const auto& seen : actor_.expected) {
    const auto is_there = [&](const LaneRow& lane) { return lane.id.lane == seen.lane; };
    if (!seen.lane || lanes.empty() || std::any_of(lanes.begin(), lanes.end(), is_there)) continue;
    throw Error("process \"" + process_ + "\" has no lane " + std::to_string(*seen.lane) +
                ", which was expected; nothing was changed: check again");
  }
}

/// In a new transaction; nothing: the lanes are ours.
std::optional<Act::Obstacle> Act::lock() try {
  connection_.begin(wait_for_lock(lock_wait));
  const auto in_call =
      connection_.run(sql::store::lanes_in_call, {process_, array_of(lane_), silent_});
  if (in_call.empty()) return std::nullopt;
  note_silent_leases();
  connection_.rollback();
  return Obstacle{"the call of lane " + in_call[0]["lane"].as<std::string>() + " by " +
                      in_call[0]["holder"].as<std::string>(),
                  true};
} catch (const SessionLost& lost) {
  if (lost.sqlstate() != "55P03") throw;  // lock_not_available
  connection_.rollback();
  return Obstacle{who_locks_it(), false};
}

std::string Act::who_locks_it() {
  const auto found = connection_.run(sql::store::who_locks, {process_});
  if (found.empty()) return "somebody who has locked its cursor";
  return found[0]["session"].as<std::string>() + ", " + found[0]["does"].as<std::string>() +
         " and has locked its cursor";
}

void Act::note_silent_leases() {
  json::array silent;
  for (const auto& lane : read_lanes(connection_, process_)) {
    seen_.saw(lane.id, lane.lease);
    const auto lease = seen_.silent(lane.id, milliseconds{0});
    if (!lease) continue;
    silent.push_back({{"lane", lane.id.lane}, {"epoch", lease->epoch}, {"until", lease->until}});
  }
  silent_ = json::serialize(silent);
}

/// A lock that is not had at once is not worth the wait: the next round asks again.
void Act::ask(milliseconds length) try {
  asked_ = true;
  connection_.begin(wait_for_lock(slice));
  connection_.run(sql::store::hold,
                  {process_, array_of(lane_), asks_as_, std::to_string(length.count())});
  connection_.commit();
} catch (const SessionLost& lost) {
  if (lost.sqlstate() != "55P03") throw;
  connection_.rollback();
}

void Act::waits_for(const std::string& what) {
  if (keep_waiting_ && !keep_waiting_(what)) {
    throw ActRefused("the wait for " + what + " was given up");
  }
}

void Act::wait(const Obstacle& obstacle) {
  const auto until = Clock::now() + (!obstacle.is_call ? milliseconds{0}
                                     : listens_        ? try_again
                                                       : try_again_unheard);
  do {
    waits_for(obstacle.what);
    if (!connection_.notifications().empty()) return;
    pollfd readable{connection_.socket(), POLLIN, 0};
    if (obstacle.is_call) ::poll(&readable, 1, static_cast<int>(slice.count()));
  } while (connection_.notifications().empty() && Clock::now() < until);
}

std::vector<std::uint64_t> Act::change(std::string_view what, const std::string& process,
                                       const std::vector<LaneChange>& changes) {
  if (keep_waiting_ && !keep_waiting_("")) {
    throw ActRefused("process \"" + process + "\": given up; nothing was changed");
  }
  core::crash_point("before act");
  const auto answer = connection_.run(
      sql::store::act,
      {process, std::string(what), stored_who(actor_), stored_reason(actor_), json_of(changes),
       process == process_ ? json_of(actor_.expected) : "[]", silent_});
  core::crash_point("during act");
  std::vector<std::uint64_t> entries;
  refuse_unexpected(answer, process);
  for (const auto& row : answer) entries.push_back(row["entry"].as<std::uint64_t>());
  if (!entries.empty()) entry_ = entries.back();
  return entries;
}

void Act::commit() {
  if (asked_) {
    connection_.run(sql::store::hold, {process_, array_of(lane_), asks_as_, "0"});
  }
  connection_.commit();
  asked_ = false;
}

}  // namespace seriatim::postgres
