// A source unlike the others: a log in pages, which gives rows their order as they are committed.
// It has no fence and no clock, and its places are pairs of numbers that only it understands. Its
// cursors are kept by a store that knows nothing of it.
#include <compare>
#include <mutex>
#include <stdexcept>

#include "contract/source_under_test.hpp"
#include "runtime/memory_store.hpp"

namespace seriatim::testing {

namespace {

constexpr unsigned lines_a_page = 2;  ///< small, so that "2.1" comes after "1.10" is tried

struct Place {
  unsigned page = 0;
  unsigned line = 0;
  auto operator<=>(const Place&) const = default;

  explicit Place(std::size_t number)
      : page(static_cast<unsigned>(number / lines_a_page) + 9),
        line(static_cast<unsigned>(number % lines_a_page) + 1) {}
  explicit Place(const Position& position) {
    const auto dot = position.id.find('.');
    page = static_cast<unsigned>(std::stoul(position.id.substr(0, dot)));
    line = static_cast<unsigned>(std::stoul(position.id.substr(dot + 1)));
  }
  [[nodiscard]] Position position() const {
    return {0, std::to_string(page) + '.' + std::to_string(line)};
  }
};

/// Append-only; a line is there for good once it is there.
class Log {
 public:
  std::string append(const std::string& payload) {
    const std::scoped_lock guard(mutex_);
    lines_.push_back(payload);
    return Place(lines_.size() - 1).position().id;
  }
  [[nodiscard]] std::vector<Record> records() const {
    const std::scoped_lock guard(mutex_);
    std::vector<Record> records;
    for (std::size_t number = 0; number < lines_.size(); ++number) {
      auto& record = records.emplace_back();
      record.position = Place(number).position();
      record.payload = lines_[number];
    }
    return records;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

class LogReader final : public Reader {
 public:
  LogReader(const Log& log, std::shared_ptr<MemoryCursors> cursors, Waker& waker)
      : log_(log), cursors_(std::move(cursors)), waker_(waker), opened_(cursors_->generation()) {}

  [[nodiscard]] Abilities abilities() const override { return {.fence = false, .reread = true}; }
  [[nodiscard]] bool comes_after(const Position& row, const Position& other) const override {
    return Place(row) > Place(other);
  }
  PollResult poll(const Wanted& wanted) override {
    refuse_lost();
    PollResult round;
    for (auto& record : log_.records()) {
      const bool behind = wanted.after && !comes_after(record.position, *wanted.after);
      if (!behind && round.records.size() < wanted.rows_max) {
        round.records.push_back(std::move(record));
      }
    }
    return round;
  }
  PollResult reread(const std::vector<std::string>& ids, const std::optional<Position>& after,
                    unsigned rows_max) override {
    refuse_lost();
    PollResult round;
    for (const auto& id : ids) {
      for (auto& record : log_.records()) {
        if (record.id() != id || round.records.size() == rows_max) continue;
        record.late = after && !comes_after(record.position, *after);
        round.records.push_back(std::move(record));
      }
    }
    return round;
  }
  bool wait_until(Time deadline) override {
    const bool woken = waker_.wait_until(deadline);
    refuse_lost();
    return woken;
  }
  [[nodiscard]] bool hints() const override { return false; }

 private:
  void refuse_lost() const {
    if (cursors_->generation() != opened_) throw SessionLost("the log was closed");
  }

  const Log& log_;
  std::shared_ptr<MemoryCursors> cursors_;
  Waker& waker_;
  unsigned opened_;
};

class LogUnderTest final : public SourceUnderTest, private Source {
 public:
  Source& source() override { return *this; }
  std::string append(const std::string& payload) override { return log_.append(payload); }
  std::unique_ptr<Transaction> begin() override {
    throw std::logic_error("a line of the log is committed with its place");
  }
  void pause(const LaneId& lane) override { cursors_->pause(lane); }
  void resume(const LaneId& lane) override { cursors_->resume(lane); }
  void hold(const LaneId& lane, bool on) override { cursors_->hold(lane, on); }
  void retry(const LaneId& lane) override { cursors_->retry(lane); }
  void skip(const LaneId& lane, const std::string& id) override { cursors_->skip(lane, {0, id}); }
  void redrive(const LaneId& lane) override { cursors_->redrive(lane.process); }
  void drop_sessions() override { cursors_->drop_sessions(); }

 private:
  Lane open(const LaneId& lane, const ProcessConfig&, const std::string& holder,
            Waker& waker) override {
    return {MemoryCursors::open(cursors_, lane, holder, waker),
            std::make_unique<LogReader>(log_, cursors_, waker)};
  }

  Log log_;
  std::shared_ptr<MemoryCursors> cursors_ = std::make_shared<MemoryCursors>();
};

}  // namespace

std::unique_ptr<SourceUnderTest> make_log_source() {
  return std::make_unique<LogUnderTest>();
}

}  // namespace seriatim::testing
