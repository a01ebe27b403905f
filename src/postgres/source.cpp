#include "core/lane.hpp"
#include "postgres/connection.hpp"
#include "postgres/cursor_repository.hpp"
#include "postgres/poll_source.hpp"
#include "postgres/table.hpp"
#include "postgres/wake_up.hpp"
#include "seriatim/postgres.hpp"

namespace seriatim {

namespace postgres {

namespace {

/// One statement may read a batch of large rows, or pass over all of a long table that `where` does
/// not match (once: what was scanned is remembered), but not for ever. A dead server is noticed by
/// the network bounds of connection.cpp, long before.
constexpr milliseconds statement_timeout{600'000};
/// Waiting for a lock on a table means waiting for DDL, or for an operator's act.
constexpr milliseconds lock_timeout{5'000};

Connection::Options connection_options(const LaneId& lane, const ProcessConfig& config) {
  return {"seriatim/" + lane.process + "/" + std::to_string(lane.lane), statement_timeout,
          lock_timeout, config.handler_deadline + core::Lane::lock_slack};
}

/// A lane's session: one connection, and the parts that share it.
class PostgresSession final : public LaneSession {
 public:
  PostgresSession(const std::string& url, const LaneId& lane, const ProcessConfig& config,
                  const SourceConfig& source, const std::string& holder, Waker& waker)
      : connection_(url, connection_options(lane, config)),
        table_(resolve_table(connection_, source)),
        cursor_(connection_, table_, lane, holder, config.lease),
        poll_(connection_, table_, source, lane),
        wake_up_(connection_, table_, lane.process, waker, source.listen) {}

  Claim claim() override { return cursor_.claim(); }
  Round poll(const std::optional<Position>& after, unsigned rows_max) override {
    connection_.rollback();
    wake_up_.gather();
    return poll_.poll(after, rows_max);
  }
  bool start(std::uint64_t epoch) override { return cursor_.start(epoch); }
  bool lock(std::uint64_t epoch, const std::optional<Position>& expected) override {
    return cursor_.lock(epoch, expected);
  }
  bool advance(std::uint64_t epoch, const std::optional<Position>& from,
               const std::vector<Position>& done, bool next_started) override {
    return cursor_.advance(epoch, from, done, next_started);
  }
  bool note_retry(std::uint64_t epoch, const Failure& failure, milliseconds delay) override {
    return cursor_.note_retry(epoch, failure, delay);
  }
  bool halt(std::uint64_t epoch, HaltReason reason, const Failure& failure) override {
    return cursor_.halt(epoch, reason, failure);
  }
  void release(std::uint64_t epoch, bool untouched) override { cursor_.release(epoch, untouched); }
  Cursor look() override { return cursor_.look(); }
  bool wait_until(std::chrono::steady_clock::time_point deadline) override {
    connection_.rollback();
    return wake_up_.wait_until(deadline);
  }
  [[nodiscard]] bool hints() const override { return wake_up_.hints(); }

 private:
  Connection connection_;
  Table table_;
  CursorRepository cursor_;
  PollSource poll_;
  WakeUp wake_up_;
};

class PostgresSource final : public Source {
 public:
  PostgresSource(std::string url, SourceConfig table)
      : url_(std::move(url)), table_(std::move(table)) {}

  std::unique_ptr<LaneSession> open(const LaneId& lane, const ProcessConfig& config,
                                    const std::string& holder, Waker& waker) override {
    return std::make_unique<PostgresSession>(url_, lane, config, table_, holder, waker);
  }

 private:
  std::string url_;
  SourceConfig table_;
};

}  // namespace

}  // namespace postgres

std::shared_ptr<Source> postgres_source(std::string url, SourceConfig table) {
  return std::make_shared<postgres::PostgresSource>(std::move(url), std::move(table));
}

}  // namespace seriatim
