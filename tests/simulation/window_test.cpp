// Many schedules of reads, calls, answers, commits, crashes and deleted rows for a lane with
// several calls in flight. What the receiver saw is judged apart from the code. Each guard of the
// code is left out once, and that must be caught.
#include "core/window.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/mutant.hpp"
#include "core/pace.hpp"
#include "simulation/random.hpp"

using namespace seriatim;
using seriatim::core::Mutant;
using seriatim::core::Window;
using seriatim::core::WindowCommit;
using seriatim::simulation::Random;

namespace {

constexpr int rows_in_table = 12;
constexpr int id_step = 10;  ///< so that rows can appear between others
constexpr int appear_max = 3;
constexpr int id_end = (rows_in_table + 1) * id_step;
constexpr int steps_with_trouble = 120;
constexpr int steps_max = 2'000;

/// A promise was broken.
struct Broken {
  std::string what;
};

/// What the cursor's row has.
struct Kept {
  int cursor = 0;  ///< id
  std::uint64_t sequence = 0;
  RowsAhead ahead;
};

/// What the receiver and the database saw, and what must be true of it.
class Judge {
 public:
  Judge(Window::Limits limits, bool limits_keys) : limits_(limits), limits_keys_(limits_keys) {}

  /// By time. With limits no more than one row fits into a bucket.
  void begun_at(int id, int key, core::Time now, const ProcessConfig& config) {
    const auto keeps = [&](const RateLimit& limit, std::optional<core::Time> last) {
      return limit.rows == 0 || !last || now - *last >= limit.per / limit.rows;
    };
    require(keeps(config.rate_limit, last_call_), id, "is called faster than the limit allows");
    const auto [of_key, first] = last_of_key_.emplace(key, now);
    require(first || keeps(config.key_rate_limit, of_key->second), id,
            "is called faster than the limit of its key allows");
    last_call_ = of_key->second = now;
  }
  void begun(int id, int key, const Record& record, const Kept& kept) {
    require(!committed_.contains(id), id, "goes out again though its outcome was committed");
    require(calls_.size() + uncommitted_.size() < limits_.in_flight + limits_.commit_every, id,
            "begins with too many rows uncommitted");
    const bool waited_for = std::any_of(astray_.begin(), astray_.end(), [&](int row) {
      return failed_ && row < *failed_ && rows_.contains(row) && rows_.at(row) == key;
    });
    require(!failed_ || id <= *failed_ || waited_for, id, "overtakes a row that failed");
    require(in_doubt_.empty() || calls_.size() + uncommitted_.size() == 0, id,
            "is not alone, though a process may have ended because of one of the rows");
    for (const auto& [other, other_key] : calls_) {
      require(other_key != key, id, "begins while a row of its key is in flight");
    }
    for (const auto& [earlier, earlier_key] : rows_) {
      if (earlier >= id || earlier_key != key || astray_.contains(earlier)) continue;
      const bool before = committed_.contains(earlier) ||
                          (limits_.commit_every > 1 && uncommitted_.contains(earlier));
      require(before, id, "overtakes a row of its key");
    }
    const auto announced =
        std::any_of(kept.ahead.open.begin(), kept.ahead.open.end(), [&](const auto& row) {
          return row.id == std::to_string(id) && row.number == record.sequence && row.attempts > 0;
        });
    require(announced, id, "begins without a commit that announced it");
    const auto [number, fresh] = number_of_.emplace(id, record.sequence);
    require(number->second == record.sequence, id, "has another number than before");
    require(!fresh || numbers_.insert(record.sequence).second, id, "has another row's number");
    auto& highest = highest_of_key_[key];
    require(!fresh || record.sequence > highest, id, "has a lower number than its key had before");
    highest = std::max(highest, record.sequence);
    calls_.emplace(id, key);
  }
  void ended(int id, bool accepted) {
    calls_.erase(id);
    if (accepted) uncommitted_.insert(id);
    if (!accepted) failed_ = std::min(failed_.value_or(id), id);
  }
  /// It failed, and is to be set aside.
  void leaves(int id) {
    calls_.erase(id);
    leaving_.insert(id);
  }
  /// … and is, so later rows of its key queue.
  void set_aside(int id, std::optional<int> held_key) {
    require(!calls_.contains(id) && !uncommitted_.contains(id), id, "is set aside amid its call");
    committed_.insert(id);
    in_doubt_.erase(id);
    for (const auto& [later, key] : rows_) {
      if (later <= id || key != held_key) continue;
      queues_.insert(later);
      in_doubt_.erase(later);
    }
  }
  [[nodiscard]] bool queues(int id) const { return queues_.contains(id); }
  void read_as_queued(int id) { queues_.insert(id); }
  void queued(const std::vector<QueuedRow>& rows) {
    for (const auto& row : rows) {
      const int id = std::stoi(row.position.id);
      require(!calls_.contains(id) && !uncommitted_.contains(id), id, "queues, and was called");
      committed_.insert(id);
      in_doubt_.erase(id);
    }
  }
  /// So its token is given back.
  void taken_back(int id) {
    last_of_key_.erase(calls_.at(id));
    last_call_.reset();
    calls_.erase(id);
  }
  void failed(int id, bool first) {
    require(calls_.empty(), id, "is said to have failed while calls are in flight");
    require(first || limits_keys_, id, "is dealt with before the rows before it");
    for (const auto& [earlier, key] : rows_) {
      const bool done = committed_.contains(earlier) || uncommitted_.contains(earlier) ||
                        queues_.contains(earlier) || leaving_.contains(earlier) ||
                        astray_.contains(earlier);
      require(earlier >= id || done || !first, id,
              "is said to have failed before a row before it is done");
    }
    failed_.reset();
  }
  /// These rows repeat, and their number is bounded by what `begun` requires.
  void crashed() {
    calls_.clear();
    uncommitted_.clear();
    leaving_.clear();
    in_doubt_.clear();
    failed_.reset();
  }
  void claimed_together() {
    in_doubt_.clear();
    failed_.reset();
  }
  /// A process ended while it handled one of the rows that were announced. Those that queue go out
  /// from aside.
  void claimed_one_by_one(const Kept& kept) {
    for (const auto& row : kept.ahead.open) {
      const int id = std::stoi(row.id);
      if (row.attempts > 0 && row.number > 0 && rows_.contains(id)) in_doubt_.insert(id);
    }
  }
  /// All answers of before are committed with it.
  void committed(const Kept& kept) {
    committed_.insert(uncommitted_.begin(), uncommitted_.end());
    for (const int id : uncommitted_) in_doubt_.erase(id);
    for (const auto& row : kept.ahead.open) {
      if (row.number == 0) in_doubt_.erase(std::stoi(row.id));
    }
    uncommitted_.clear();
    leaving_.clear();
    for (const auto& [id, key] : rows_) {
      require(id > kept.cursor || committed_.contains(id), id, "was passed by the cursor");
    }
    require(kept.sequence >= passed_before_, kept.cursor, "took the cursor's number back");
    passed_before_ = kept.sequence;
  }
  void deleted(int id) {
    rows_.erase(id);
    in_doubt_.erase(id);
  }
  void inserted(int id, int key) { rows_.emplace(id, key); }
  void appeared(int id, int key) {
    rows_.emplace(id, key);
    astray_.insert(id);
  }
  [[nodiscard]] bool is_calling(int id) const { return calls_.contains(id); }
  [[nodiscard]] const std::map<int, int>& calls() const { return calls_; }
  void at_rest() const {
    for (const auto& [id, key] : rows_) require(committed_.contains(id), id, "was lost");
  }

 private:
  static void require(bool holds, int id, const std::string& what) {
    if (!holds) throw Broken{"row " + std::to_string(id) + ' ' + what};
  }

  Window::Limits limits_;
  bool limits_keys_;           ///< rows may wait for their rate limit while others go out
  std::map<int, int> rows_;    ///< in the table, with their keys
  std::map<int, int> calls_;   ///< in flight, with their keys
  std::set<int> uncommitted_;  ///< accepted since the last crash
  std::set<int> leaving_;      ///< to be set aside
  std::set<int> committed_;
  std::set<int> queues_;       ///< read, and to be passed without a call
  std::set<int> in_doubt_;     ///< must go out alone
  std::optional<int> failed_;  ///< the first row that did
  std::optional<core::Time> last_call_;
  std::map<int, core::Time> last_of_key_;
  std::map<int, std::uint64_t> highest_of_key_;
  std::set<int> astray_;  ///< appeared before rows that had been read
  std::uint64_t passed_before_ = 0;
  std::map<int, std::uint64_t> number_of_;
  std::set<std::uint64_t> numbers_;
};

class Run {
 public:
  explicit Run(std::uint64_t seed)
      : random_(seed), limits_(draw()), pace_(rates_), judge_(limits_, pace_.limits_keys()) {
    for (int id = id_step; id < id_end; id += id_step) {
      table_.emplace(id, pick(keys_));
      judge_.inserted(id, table_.at(id));
    }
    claim(false);
  }

  void go() {
    for (int step = 0; step < steps_max; ++step) {
      const bool troubles = step < steps_with_trouble;
      now_ += std::chrono::milliseconds(pick(60));
      window_->wake(now_);
      if (!troubles && is_at_rest()) return judge_.at_rest();
      if (troubles && random_.chance(0.04)) {
        crash();
      } else if (troubles && random_.chance(0.04)) {
        remove_row();
      } else {
        advance(troubles);
      }
      call();
    }
    throw Broken{"it never came to an end"};
  }

 private:
  Window::Limits draw() {
    keys_ = 1 + pick(4);
    if (pick(3) == 0) {
      queued_key_ = pick(keys_);
      queued_from_ = (1 + pick(rows_in_table)) * id_step;
    }
    if (pick(4) == 0) rates_.rate_limit.rows = 10 / (1U << static_cast<unsigned>(pick(3)));
    if (pick(4) == 0) rates_.key_rate_limit.rows = 10 / (1U << static_cast<unsigned>(pick(3)));
    const auto in_flight = static_cast<unsigned>(1 + pick(4));
    const auto commit_every = pick(2) == 0 ? 1U : 3U;
    // What is kept of rows, and those that appear among them, fit into a window.
    return {in_flight, commit_every,
            in_flight + commit_every + static_cast<std::size_t>(appear_max + pick(6))};
  }
  int pick(int count) { return static_cast<int>(random_.between(0, count - 1)); }
  [[nodiscard]] bool is_at_rest() const {
    return judge_.calls().empty() && unread().empty() && !window_->has_news() &&
           !window_->failed() && window_->is_empty();
  }

  void claim(bool one_by_one, bool probes = false) {
    if (random_.chance(0.1)) insert_row();
    Cursor cursor;
    if (kept_.cursor > 0) cursor.position = Position{0, std::to_string(kept_.cursor)};
    cursor.sequence = kept_.sequence;
    cursor.ahead = kept_.ahead;
    window_.emplace(limits_, cursor, pace_, one_by_one, probes);
  }
  [[nodiscard]] std::vector<int> unread() const {
    const auto& read_to = window_->read_to();
    const int from = read_to ? std::stoi(read_to->id) : 0;
    std::vector<int> ids;
    for (const auto& [id, key] : table_) {
      if (id > from) ids.push_back(id);
    }
    return ids;
  }

  void advance(bool troubles) {
    switch (pick(4)) {
      case 0: return read();
      case 1: return answer(troubles);
      case 2: return commit(troubles);
      default:
        if (troubles && random_.chance(0.1)) give_back();
    }
  }
  void read() {
    auto ids = unread();
    if (ids.empty()) {
      window_->read_to_end();
      return window_->none_left();
    }
    ids.resize(std::min({ids.size(), window_->wanted(), static_cast<std::size_t>(1 + pick(3))}));
    PollResult round;
    for (const int id : ids) {
      if ((table_.at(id) == queued_key_ && id >= queued_from_) || held_.contains(table_.at(id))) {
        round.queued.push_back({Position{0, std::to_string(id)}, std::to_string(queued_key_),
                                round.records.size(), false});
        judge_.read_as_queued(id);
        continue;
      }
      auto& record = round.records.emplace_back();
      record.position.id = std::to_string(id);
      if (const int key = table_.at(id); key > 0) record.key = std::to_string(key);
    }
    window_->add(std::move(round));
  }
  void call() {
    for (const auto& record : window_->begin(now_)) {
      const int id = std::stoi(record->id());
      judge_.begun_at(id, key(*record), now_, rates_);
      judge_.begun(id, key_of_.emplace(id, key(*record)).first->second, *record, kept_);
      number_of_call_[id] = record->sequence;
    }
  }
  static int key(const Record& record) { return record.key ? std::stoi(*record.key) : 0; }
  [[nodiscard]] int any_call() {
    const auto& calls = judge_.calls();
    return std::next(calls.begin(), pick(static_cast<int>(calls.size())))->first;
  }
  void answer(bool troubles) {
    if (judge_.calls().empty()) return;
    const int id = any_call();
    const bool fails = troubles && random_.chance(0.2);
    if (fails && pick(2) == 0) {
      judge_.leaves(id);
      return window_->set_aside(number_of_call_.at(id), park(id));
    }
    judge_.ended(id, !fails);
    window_->answered(number_of_call_.at(id), fails ? Outcome::retry_later("") : Outcome::done());
  }
  Park park(int id) {
    return {.row = Position{0, std::to_string(id)}, .key = {}, .holds_key = pick(4) > 0};
  }
  /// A call was not begun in time: its row is announced once more.
  void give_back() {
    if (judge_.calls().empty()) return;
    const int id = any_call();
    judge_.taken_back(id);
    window_->not_begun(number_of_call_.at(id));
  }
  void commit(bool troubles) {
    const auto failed = window_->failed();
    if (!failed && !window_->has_news()) return;
    if (failed) {
      const int id = std::stoi(failed->row->id());
      judge_.failed(id, failed->first);
      if (pick(2) == 0) window_->set_first_aside(park(id));
    }
    const bool stops = failed || (troubles && judge_.calls().empty() && pick(4) == 0);
    auto written = window_->commit(!stops);
    const bool counts = !troubles || random_.chance(0.98);
    const bool known = counts && (!troubles || random_.chance(0.98));
    if (counts) {
      if (!written.done.empty()) kept_.cursor = std::stoi(written.done.back().id);
      if (!written.queued.empty()) {
        kept_.cursor = std::max(kept_.cursor, std::stoi(written.queued.back().position.id));
      }
      for (const auto& parked : written.parks) {
        const int id = std::stoi(parked.row.id);
        judge_.set_aside(id, parked.holds_key ? std::optional(key_of_.at(id)) : std::nullopt);
        if (parked.holds_key) held_.insert(key_of_.at(id));
      }
      kept_.sequence += written.done.size() + written.queued.size() + written.unused;
      judge_.queued(written.queued);
      kept_.ahead = written.in_flight.ahead;
      judge_.committed(kept_);
    }
    if (!known) return crash();
    if (!stops) return;
    judge_.claimed_together();
    claim(false, failed && pick(2) == 0);
  }
  /// Each call in flight may have reached the receiver.
  void crash() {
    const bool in_call = !judge_.calls().empty();
    judge_.crashed();
    const bool one_by_one = in_call && random_.chance(0.7);
    if (one_by_one) judge_.claimed_one_by_one(kept_);
    claim(one_by_one);
  }
  /// After the cursor, where rows were read before.
  void insert_row() {
    const int id = kept_.cursor + 1 + pick(id_end - kept_.cursor);
    if (id % id_step == 0 || table_.contains(id) || key_of_.contains(id)) return;
    if (appeared_++ >= appear_max) return;
    table_.emplace(id, pick(keys_));
    judge_.appeared(id, table_.at(id));
  }
  void remove_row() {
    const int id = (1 + pick(rows_in_table)) * id_step;
    if (judge_.is_calling(id) || !table_.contains(id)) return;
    table_.erase(id);
    judge_.deleted(id);
  }

  Random random_;
  int keys_ = 1;
  int queued_key_ = -1;  ///< from this row on its rows queue
  int queued_from_ = 0;
  int appeared_ = 0;
  std::set<int> held_;  ///< keys of which a row is aside
  ProcessConfig rates_;
  Window::Limits limits_;
  core::Time now_{};
  core::Pace pace_;
  Judge judge_;
  std::map<int, int> table_;  ///< keys by id; key 0: none
  std::map<int, int> key_of_;
  std::map<int, std::uint64_t> number_of_call_;
  Kept kept_;
  std::optional<Window> window_;
};

/// What a seed breaks.
std::optional<std::string> broken_by(std::uint64_t seed) {
  try {
    Run(seed).go();
  } catch (const Broken& broken) {
    return broken.what;
  }
  return std::nullopt;
}

void must_be_caught(Mutant mutant, const std::string& expected) {
  constexpr std::uint64_t seeds_max = 2'000;
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    core::active_mutant = mutant;
    const auto broken = broken_by(seed);
    core::active_mutant = Mutant::none;
    if (!broken) continue;
    CAPTURE(seed);
    CHECK_MESSAGE(broken->find(expected) != std::string::npos, *broken);
    return;
  }
  FAIL("not caught within ", seeds_max, " seeds");
}

}  // namespace

TEST_SUITE("window of rows in flight") {
  TEST_CASE(
      "order by key, no repeat of what is committed, and an honest cursor in every schedule") {
    constexpr std::uint64_t seeds = 20'000;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto broken = broken_by(seed);
      if (broken) FAIL("seed ", seed, ": ", *broken);
    }
  }

  TEST_CASE("each guard is needed") {
    must_be_caught(Mutant::cursor_passes_undone, "was passed by the cursor");
    must_be_caught(Mutant::done_ahead_forgotten, "goes out again though its outcome was committed");
    must_be_caught(Mutant::key_overlaps, "of its key");
    must_be_caught(Mutant::numbers_forgotten, "has another number than before");
    must_be_caught(Mutant::doubtful_together, "is not alone");
    must_be_caught(Mutant::failure_passed, "overtakes a row that failed");
    must_be_caught(Mutant::kept_rows_not_awaited, "has another number than before");
    must_be_caught(Mutant::rate_not_kept, "is called faster than the limit");
  }
}
