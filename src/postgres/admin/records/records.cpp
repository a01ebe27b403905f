#include "postgres/admin/records/records.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "sql/records.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::size_t error_bytes_max = 500;

const Connection::Options record_options{.application = "seriatim/records",
                                         .statement_timeout = milliseconds{5'000},
                                         .lock_timeout = milliseconds{1'000}};

std::string text_of(milliseconds time) {
  return std::to_string(time.count());
}

std::string json_of(const std::vector<Condition>& conditions) {
  boost::json::array list;
  for (const auto& seen : conditions) {
    list.push_back(
        boost::json::object{{"process", seen.process},
                            {"lane", seen.lane},
                            {"kind", seen.kind},
                            {"certain", seen.certain},
                            {"summary", seen.summary},
                            {"body", boost::json::parse(seen.body.empty() ? "{}" : seen.body)}});
  }
  return boost::json::serialize(list);
}

/// One column of an unnest.
std::string column(const std::vector<LaneMinute>& lanes, std::uint64_t LaneMinute::*member) {
  std::vector<std::string> values;
  for (const auto& lane : lanes) values.push_back(std::to_string(lane.*member));
  return array_text(values);
}

}  // namespace

pqxx::result Records::run(std::string_view sql, const Params& params) {
  try {
    if (!connection_) connection_.emplace(url_, record_options);
    return connection_->run(sql, params);
  } catch (const SessionLost&) {
    connection_.reset();
    throw;
  }
}

void Records::relay_runs(const Relay& relay) {
  run(sql::records::relay_runs,
      {relay.name, relay.version, relay.config_hash, array_text(relay.processes)});
}

void Records::relay_ends(const std::string& name) {
  run(sql::records::relay_ends, {name});
}

void Records::add_minutes(const std::string& process, std::int64_t minute_us,
                          const std::vector<LaneMinute>& lanes) {
  std::vector<std::string> numbers;
  for (const auto& lane : lanes) numbers.push_back(std::to_string(lane.lane));
  run(sql::records::add_minutes,
      {process, timestamp_text(minute_us), array_text(numbers),
       column(lanes, &LaneMinute::delivered), column(lanes, &LaneMinute::failures),
       column(lanes, &LaneMinute::calls), column(lanes, &LaneMinute::call_sum_us),
       column(lanes, &LaneMinute::call_max_us), column(lanes, &LaneMinute::age_max_us)});
}

Records::Surroundings Records::surroundings(const std::vector<std::string>& processes,
                                            milliseconds relay_gone) {
  const auto row = run(sql::records::surroundings, {array_text(processes), text_of(relay_gone)})[0];
  Surroundings found;
  found.configurations = row["configurations"].as<unsigned>();
  if (row["slot"].is_null()) return found;
  found.slot = row["slot"].as<std::string>();
  found.slot_bytes = row["bytes"].as<std::int64_t>();
  return found;
}

Records::Judged Records::judge(const std::vector<Condition>& conditions, const Judging& judging) {
  const auto row = run(sql::records::judge_alerts,
                       {array_text(judging.processes), json_of(conditions), text_of(judging.repeat),
                        text_of(judging.clear), judging.who})[0];
  return {row["unsent"].as<bool>(), row["open"].as<bool>()};
}

std::optional<AlertMessage> Records::claim_message(const std::vector<std::string>& processes,
                                                   milliseconds lease) {
  const auto found = run(sql::records::claim_message, {array_text(processes), text_of(lease)});
  if (found.empty()) return std::nullopt;
  const auto row = found[0];
  const auto text = [&](const char* name) { return row[name].as<std::string>(); };
  AlertMessage message{text("id"),           row["turn"].as<unsigned>(),
                       text("process_name"), row["lane"].as<int>(),
                       text("kind"),         text("summary"),
                       text("body"),         text("opened_at")};
  if (!row["resolved_at"].is_null()) message.resolved_at = text("resolved_at");
  message.tries = row["tries"].as<unsigned>();
  return message;
}

void Records::message_accepted(const AlertMessage& message) {
  run(sql::records::message_accepted, {message.alert, std::to_string(message.turn)});
}

void Records::message_failed(const AlertMessage& message, milliseconds pause,
                             const std::string& error) {
  run(sql::records::message_failed, {message.alert, std::to_string(message.turn), text_of(pause),
                                     storable_text(error, error_bytes_max)});
}

}  // namespace seriatim::postgres
