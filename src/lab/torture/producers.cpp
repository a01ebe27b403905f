#include "lab/torture/producers.hpp"

#include <chrono>

#include "lab/torture/receiver.hpp"
#include "lab/torture/writer.hpp"
#include "sql/torture.hpp"

namespace seriatim::torture {

using namespace std::chrono_literals;

namespace {

constexpr auto reconnect_interval = 50ms;
constexpr auto finisher_interval = 30ms;
constexpr std::size_t commit_times_max = 2'000'000;

bool is_plain(const std::string& table) {
  return table == "plain";
}

/// Fixed by the name, whoever asks when.
std::uint64_t dice_of(const std::string& gid) {
  return hash_of(gid) >> 8U;
}

}  // namespace

Producers::Producers(const Stage& stage, const Options& options)
    : stage_(stage),
      options_(options),
      rows_of_(options.writers),
      writers_({.count = options.writers,
                .open =
                    [this](unsigned number, std::uint64_t round) {
                      return std::make_unique<Writer>(*this, number, round, rows_of_[number]);
                    },
                .reconnects = true,
                .may_begin = [this] { return !paused_ && !throttled_; }}) {}

Producers::~Producers() = default;

void Producers::start() {
  writers_.start();
  if (!options_.two_phase) return;
  finisher_ = std::jthread([this](const std::stop_token& stop) { end_prepared(stop); });
}

void Producers::stop() {
  paused_ = false;
  finisher_ = {};
  writers_.stop();
  end_all_prepared();
}

// --- prepared transactions ----------------------------------------------------------------------

void Producers::end_prepared(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      Session session(stage_.url(), stage_.prefix() + "finisher");
      while (!stop.stop_requested()) {
        if (!paused_) end_prepared_once(session, false);
        std::this_thread::sleep_for(finisher_interval);
      }
    } catch (const SqlFailed&) {
      std::this_thread::sleep_for(reconnect_interval);
    }
  }
}

/// Ends those whose time has come: most soon, one in eight only after some seconds. False when none
/// was found.
bool Producers::end_prepared_once(Session& session, bool all) {
  const auto found = session.run(sql::torture::prepared, {stage_.prefix()});
  for (const auto& row : found) {
    const auto gid = row.at(0).value_or("");
    const auto dice = dice_of(gid);
    const auto due_ms = dice % 8 == 0 ? dice / 8 % 6'000 : dice / 8 % 400;
    if (!all && std::stoull(row.at(1).value_or("0")) < due_ms) continue;
    const bool back = dice / 64 % 5 == 0;
    session.run((back ? "ROLLBACK PREPARED " : "COMMIT PREPARED ") + session.quoted(gid));
    const bool plain = gid.rfind(stage_.prefix() + "plain", 0) == 0;
    if (!back) note_rows(plain ? "plain" : "parts", 1);
  }
  return !found.empty();
}

void Producers::end_all_prepared() {
  if (!options_.two_phase) return;
  Session session(stage_.url(), stage_.prefix() + "finisher");
  while (end_prepared_once(session, true)) {
  }
}

void Producers::slip_in_rows() {
  Session session(stage_.url(), stage_.prefix() + "slipper", false);
  for (const char* table : {"plain", "parts"}) {
    const auto token = "slipped." + std::to_string(++slipped_);
    session.run(stage_.on(sql::torture::insert_row, table),
                {"-1", "0", "key-0", R"({"token": ")" + token + R"("})", "0"});
    note_rows(table, 1);
  }
}

// --- notes --------------------------------------------------------------------------------------

void Producers::note_rows(const std::string& table, std::uint64_t rows) {
  (is_plain(table) ? plain_rows_ : parts_rows_) += rows;
}

void Producers::note_commit(const std::string& table, std::int64_t id) {
  const auto now = monotonic_now();
  const std::scoped_lock guard(mutex_);
  auto& times = commit_times_[is_plain(table) ? "plain" : "parts"];
  if (times.size() < commit_times_max) times.emplace_back(id, now);
}

void Producers::note_shape(const std::string& shape) {
  const std::scoped_lock guard(mutex_);
  shapes_[shape] += 1;
}

std::uint64_t Producers::rows(const std::string& table) const {
  return is_plain(table) ? plain_rows_ : parts_rows_;
}

CommitTimes Producers::commit_times() const {
  const std::scoped_lock guard(mutex_);
  return commit_times_;
}

std::map<std::string, std::uint64_t> Producers::shapes() const {
  const std::scoped_lock guard(mutex_);
  return shapes_;
}

}  // namespace seriatim::torture
