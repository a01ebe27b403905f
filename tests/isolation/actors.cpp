#include "isolation/actors.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "core/crash_point.hpp"

namespace seriatim::isolation {

namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string told(const PollResult& round) {
  std::string text;
  for (const auto& record : round.records) {
    text += (text.empty() ? "" : " ") + record.payload.value_or("NULL");
  }
  if (text.empty()) text = "nothing";
  if (round.fenced) text += ", fenced";
  const char* by = " by ";
  for (const auto& blocker : round.blockers) {
    text += std::exchange(by, ", ");
    text += blocker.gid.empty() ? blocker.application : "prepared " + blocker.gid;
  }
  return text;
}

}  // namespace

std::string Writer::perform(const std::string& sql) {
  try {
    session_.run(sql);
    return "";
  } catch (const std::exception& e) {
    return first_line(e.what());
  }
}

// --- the relay -----------------------------------------------------------------------------------

Relay::Relay(testing::TestDatabase& database, const std::string& table, OrderBy order)
    : Actor("relay"),
      aside_(database.connect("aside")),
      lane_(database, testing::table(table, order)) {
  lane_.source = postgres_source(database.url(), testing::table(table, order));
  open();
}

void Relay::open() {
  lane_.session.reset();
  lane_.open();
  if (!lane_.claim()) throw std::runtime_error("the lane could not be claimed");
  pid_ = std::stoi(aside_.value(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name "
      "LIKE 'seriatim/%' ORDER BY backend_start DESC LIMIT 1"));
}

std::string Relay::perform(const std::string& word) {
  try {
    if (word == "reopen") open();
    if (word == "advance") return advance(), "";
    round_ = lane_.poll();
    auto text = told(round_);
    if (word != "poll") advance();
    return text;
  } catch (const SourceBroken& broken) {
    return std::string("halts ") + to_string(broken.reason()) + ": " + broken.what();
  }
}

void Relay::advance() {
  if (round_.records.empty()) return;
  if (!lane_.advance(round_)) throw std::runtime_error("the cursor was refused");
  for (const auto& record : round_.records) {
    delivered_.push_back({record.position, record.payload.value_or("NULL")});
  }
  round_ = {};
}

bool Relay::deliver_more() {
  round_ = lane_.poll();
  const bool waits = !round_.records.empty() || round_.fenced;
  advance();
  return waits;
}

/// As an instance does next to its lanes. The lane goes on, for the next permutation.
bool Relay::finds_late_row() {
  auto auditor = lane_.source->open_auditor(lane_.config, lane_.holder, lane_.waker);
  auditor->check_all([] { return false; });
  const auto reason = aside_.value("SELECT coalesce(reason, '') FROM seriatim.cursor");
  aside_.run("UPDATE seriatim.cursor SET state = 'running', reason = NULL, failed_id = NULL");
  return reason == "LATE_ROW";
}

bool Relay::has_delivered(const Position& position) const {
  return std::any_of(delivered_.begin(), delivered_.end(),
                     [&](const Row& row) { return row.position == position; });
}

// --- gates ---------------------------------------------------------------------------------------

namespace {

std::atomic<Gates*> gates_in_use = nullptr;

}  // namespace

Gates::Gates() {
  gates_in_use = this;
}

Gates::~Gates() {
  gates_in_use = nullptr;
}

void Gates::set(bool first_closed, bool second_closed) {
  const std::scoped_lock guard(mutex_);
  closed_ = {first_closed, second_closed};
  opened_.notify_all();
}

void Gates::pass(std::size_t gate) {
  std::unique_lock guard(mutex_);
  reached_ = gate;
  opened_.wait(guard, [&] { return !closed_.at(gate); });
  reached_.reset();
}

bool Gates::somebody_waits() const {
  const std::scoped_lock guard(mutex_);
  return reached_ && closed_.at(*reached_);
}

}  // namespace seriatim::isolation

/// The points of the rooms compiled with SERIATIM_MUTANTS: a poll passes here.
void seriatim::core::crash_point(std::string_view place, std::string_view action) {
  if (action != "locks") return;
  if (auto* gates = isolation::gates_in_use.load()) gates->pass(place == "before" ? 0 : 1);
}
