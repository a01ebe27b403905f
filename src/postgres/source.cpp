#include "postgres/source.hpp"

#include "core/lane.hpp"
#include "postgres/auditor/auditor.hpp"
#include "postgres/store/cursor_repository.hpp"
#include "postgres/store/membership.hpp"
#include "postgres/table_reader.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/source.hpp"
#include "sql/source.hpp"

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
  return {.application = "seriatim/" + lane.process + "/" + std::to_string(lane.lane),
          .statement_timeout = statement_timeout,
          .lock_timeout = lock_timeout,
          .idle_in_transaction_timeout = config.handler_deadline + core::Lane::lock_slack,
          .one_plan = true};
}

/// Polls on a connection of its own, to the same server as `other`.
class PrefetchReader final : public ReadAhead::Reader {
 public:
  PrefetchReader(const std::string& url, const LaneId& lane, const ProcessConfig& config,
                 const SourceConfig& source, int other, const std::string& other_began)
      : connection_(url, connection_options(lane, config)),
        poll_(connection_, resolve_table(connection_, source), source, lane) {
    const auto same =
        connection_.run(sql::source::same_server, {std::to_string(other), other_began});
    if (!same[0]["same"].as<bool>()) throw Error("the URL leads to several servers");
  }
  PollResult read(const Position& after, unsigned rows_max) override {
    return poll_.poll(after, rows_max);
  }

 private:
  Connection connection_;
  PollSource poll_;
};

/// What the lanes of one source have in common. Lanes may outlive the source.
struct SourceShared {
  SourceTiming timing;
  std::shared_ptr<CursorMemory> cursors = std::make_shared<CursorMemory>();
  std::shared_ptr<SoundSetup> sound = std::make_shared<SoundSetup>();
};

class PostgresSource final : public Source {
 public:
  PostgresSource(std::string url, SourceConfig table, SourceTiming timing)
      : url_(std::move(url)), table_(std::move(table)), shared_{timing} {}

  Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
            Waker& waker) override {
    auto shared = std::make_shared<LaneConnection>(url_, connection_options(lane, config), table_);
    auto store = std::make_unique<CursorRepository>(
        shared, table_, lane, holder,
        CursorRepository::Leases{config.lease, core::Lane::call_lease(config)}, shared_.cursors);
    TableReader::Parts parts{lane, table_, shared_.timing.recheck_interval, shared_.sound,
                             prefetch(*shared, lane, config)};
    auto reader = std::make_unique<TableReader>(std::move(shared), std::move(parts), config, waker);
    return {std::move(store), std::move(reader)};
  }
  std::unique_ptr<MembershipSession> open_membership(const ProcessConfig& config,
                                                     const std::string& holder) override {
    return postgres::open_membership(url_, config, holder, shared_.cursors);
  }
  std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& config,
                                               const std::string& holder, Waker& waker) override {
    return postgres::open_auditor(url_, config, table_, holder, waker);
  }

 private:
  /// Empty if nothing can be read ahead.
  ReadAhead::Open prefetch(LaneConnection& lane_connection, const LaneId& lane,
                           const ProcessConfig& config) const {
    auto& connection = lane_connection.connection;
    // They are searched for once the rows after the cursor were read.
    const bool late_rows_first = table_.late_rows == OnLateRow::deliver;
    if (!config.read_ahead || late_rows_first || !connection.direct()) return {};
    const auto began = connection.run(sql::source::own_backend)[0][0].as<std::string>();
    return [=, url = url_, source = table_, pid = connection.backend_pid()] {
      return std::make_unique<PrefetchReader>(url, lane, config, source, pid, began);
    };
  }

  std::string url_;
  SourceConfig table_;
  SourceShared shared_;
};

}  // namespace

std::shared_ptr<Source> make_source(std::string url, SourceConfig table, SourceTiming timing) {
  return std::make_shared<PostgresSource>(std::move(url), std::move(table), timing);
}

}  // namespace postgres

std::shared_ptr<Source> postgres_source(std::string url, SourceConfig table) {
  return postgres::make_source(std::move(url), std::move(table), {});
}

}  // namespace seriatim
