#include "redis/redis_handler.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "redis/redis_refusal.hpp"
#include "seriatim/handlers.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;

/// 42 of "42-7".
std::uint64_t number_of(const std::string& id) {
  std::uint64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

std::string not_ours(const Flight& flight, const Record& record, const std::string& last) {
  return "another record is at " + entry_of(record) + " of stream " + excerpt(flight.stream) +
         ", which ends at " + excerpt(last) +
         ": the stream is written by someone else, or holds entries of an earlier life of this "
         "process; give this one a stream of its own, or move the old one away (RENAME)";
}

std::string unconfirmed(const Flight& flight, const Record& record, const std::string& last) {
  return "stream " + excerpt(flight.stream) + " ends at " + excerpt(last) + ", but " +
         entry_of(record) +
         " was trimmed or deleted, so nobody can know whether it was this record: skip it, or let "
         "it be appended (again) with XSETID to " +
         std::to_string(record.sequence - 1) +
         "-0 (if the server refuses that, move the stream away: RENAME) and seriatim retry";
}

}  // namespace

RedisHandler::RedisHandler(RedisHandlerConfig config)
    : config_(std::move(config)), flights_(config_), connection_(config_) {
  hide(config_.password);
}

std::optional<Outcome> RedisHandler::begin(Rows rows, Clock::time_point /*deadline*/) {
  flight_ = flights_.begin(rows.front());
  return std::nullopt;
}

bool RedisHandler::add(Rows rows, std::size_t row) {
  return row < rows_max_ && flights_.add(flight_, rows[row]);
}

RedisHandler::RoundResult RedisHandler::settle(Rows sent, Clock::time_point deadline) {
  flight_.rows = sent;
  rows_max_ = Flights::rows_max;
  Step step;
  for (int attempt = 0; attempt < 2; ++attempt) {
    step = knows_end(flight_) ? Step{} : check(flight_, deadline);
    if (step.done == 0 && !step.failure) step = append(flight_, deadline);
    // The server closed it meanwhile. Again does no harm: what is there is found by reading.
    if (!step.hung_up || Clock::now() >= deadline) break;
  }
  return step;
}

/// A row alone needs no guard: where the stream is past its id, it is refused.
bool RedisHandler::knows_end(const Flight& flight) const {
  if (unsure_ || !connection_.is_open()) return false;
  if (flight.stream != end_stream_) return flight.rows.size() == 1;
  return end_ < flight.rows.front().sequence;
}

RedisHandler::Step RedisHandler::check(const Flight& flight, Clock::time_point deadline) {
  const bool was_open = connection_.is_open();
  RedisCommands commands;
  flights_.add_check(commands, flight);
  const auto answer = connection_.ask(commands, deadline);
  if (answer.replies.empty()) return failed(answer, was_open);
  return judge_check(flight, answer.replies.front(), !was_open, deadline);
}

RedisHandler::Step RedisHandler::judge_check(const Flight& flight, const RedisReply& reply,
                                             bool reconnected, Clock::time_point deadline) {
  using Kind = RedisReply::Kind;
  if (reply.kind == Kind::error) return refused(flight, {0, reply.text, 0, true});
  const bool known = reply.kind == Kind::list && reply.items.size() == 3 &&
                     reply.items[0].number >= 0 &&
                     static_cast<std::size_t>(reply.items[0].number) <= flight.rows.size();
  if (!known) {
    connection_.close();
    return {0, Outcome::retry_later("the server answered what no script of ours says")};
  }
  const auto there = static_cast<std::size_t>(reply.items[0].number);
  const auto& why = reply.items[1].text;
  const auto& last = reply.items[2].text;
  if (reconnected) {
    if (auto failure = lost(flight, last)) return {0, std::move(failure)};
  }
  unsure_ = false;
  end_stream_ = flight.stream;
  end_ = number_of(last);
  acknowledge(flight, there);
  if (there > 0 && config_.wait_replicas > 0) {
    RedisCommands wait;
    add_wait(wait, deadline);
    if (auto missing = missing_replicas(connection_.ask(wait, deadline))) {
      return {0, std::move(missing)};
    }
  }
  if (why.empty()) return {there, std::nullopt};
  const auto& row = flight.rows[there];
  return {there, Outcome::poison(why == "taken" ? not_ours(flight, row, last)
                                                : unconfirmed(flight, row, last))};
}

/// A server that was restarted may have lost what it acknowledged. Only a new connection can be to
/// such a one, and only rows before this flight are missed.
std::optional<Outcome> RedisHandler::lost(const Flight& flight, const std::string& last) {
  if (flight.stream != acknowledged_stream_) return std::nullopt;
  const auto missed = std::min(acknowledged_sequence_, flight.rows.front().sequence - 1);
  if (number_of(last) >= missed) return std::nullopt;
  // Recorded once: an operator's `seriatim retry` accepts the gap.
  const auto acknowledged = std::exchange(acknowledged_sequence_, 0);
  return Outcome::poison("the server lost entries it had acknowledged: stream " +
                         excerpt(flight.stream) + " ends at " + excerpt(last) + ", but " +
                         std::to_string(acknowledged) +
                         "-0 was acknowledged; rewind the process to send them again, or accept "
                         "the gap with seriatim retry (see appendfsync)");
}

RedisHandler::Step RedisHandler::append(const Flight& flight, Clock::time_point deadline) {
  RedisCommands commands;
  flights_.add_append(commands, flight);
  if (config_.wait_replicas > 0) add_wait(commands, deadline);
  unsure_ = true;  // until the answer says otherwise
  const auto answer = connection_.ask(commands, deadline);
  if (answer.replies.empty()) return failed(answer, true);
  auto step = judge_append(flight, answer);
  acknowledge(flight, step.done);
  if (config_.wait_replicas == 0 || step.done == 0) return step;
  if (auto missing = missing_replicas(answer)) return {0, std::move(missing)};
  return step;
}

RedisHandler::Step RedisHandler::judge_append(const Flight& flight,
                                              const RedisConnection::Answer& answer) {
  const auto landing = Flights::landing_of(flight, answer.replies);
  if (landing.known && !landing.refusal.empty()) return refused(flight, landing);
  if (landing.known) {
    unsure_ = !landing.guarded;
    end_stream_ = flight.stream;
    end_ = flight.rows.back().sequence;
    return {landing.appended, std::nullopt};
  }
  if (!answer.failure.empty()) return failed(answer, false);
  connection_.close();
  return {0, Outcome::retry_later("the server answered what no transaction of ours says")};
}

RedisHandler::Step RedisHandler::refused(const Flight& flight, const Landing& landing) {
  const auto done = landing.appended;
  const auto what = config_.place.origin() + ": " + reported(landing.refusal);
  switch (refusal_of(landing.refusal)) {
    case RedisRefusal::id: return {done, std::nullopt};
    case RedisRefusal::server: return {done, Outcome::retry_later(what)};
    case RedisRefusal::stream:
      return {done, Outcome::poison(excerpt(flight.stream) + " is not a stream: " + what)};
    case RedisRefusal::row: break;
  }
  if (landing.refused_row > done) {
    rows_max_ = landing.refused_row - done;
    return {done, std::nullopt};
  }
  return {done, Outcome::poison("the server does not take this record: " + what)};
}

RedisHandler::Step RedisHandler::failed(const RedisConnection::Answer& answer,
                                        bool was_open) const {
  return {{0, Outcome::retry_later(reported(answer.failure))}, was_open};
}

void RedisHandler::add_wait(RedisCommands& commands, Clock::time_point deadline) const {
  const auto left = std::chrono::floor<milliseconds>(deadline - Clock::now()) / 2;
  const auto wait = std::clamp(left, milliseconds{1}, config_.wait_timeout);
  commands.add({"WAIT", std::to_string(config_.wait_replicas), std::to_string(wait.count())});
}

void RedisHandler::acknowledge(const Flight& flight, std::size_t done) {
  if (done == 0) return;
  acknowledged_stream_ = flight.stream;
  acknowledged_sequence_ = flight.rows[done - 1].sequence;
}

std::optional<Outcome> RedisHandler::missing_replicas(const RedisConnection::Answer& answer) const {
  if (!answer.failure.empty()) return Outcome::retry_later(reported(answer.failure));
  const auto& reply = answer.replies.back();
  if (reply.kind == RedisReply::Kind::error) return Outcome::retry_later(reported(reply.text));
  if (reply.number >= config_.wait_replicas) return std::nullopt;
  return Outcome::retry_later("appended, but " + std::to_string(reply.number) + " of " +
                              std::to_string(config_.wait_replicas) +
                              " replicas had it in time (wait_replicas, wait_timeout)");
}

void register_redis(HandlerRegistry& registry) {
  add_pipelined_kind<RedisHandler>(registry, "redis", "an entry of a Redis stream a record",
                                   read_redis_config);
}

}  // namespace seriatim::handlers
