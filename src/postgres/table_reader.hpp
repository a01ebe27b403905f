#pragma once

#include <memory>
#include <optional>

#include "postgres/admin/check/setup_recheck.hpp"
#include "postgres/reader/lane_connection.hpp"
#include "postgres/reader/notification_listener.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/reader/read_ahead.hpp"
#include "postgres/reader/written_order.hpp"
#include "postgres/store/identity_guard.hpp"
#include "postgres/store/late_check.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// One lane's rows of a table, polled; late rows too, if they are delivered.
class TableReader final : public Reader {
 public:
  struct Parts {
    LaneId lane;
    SourceConfig source;
    milliseconds recheck_interval;
    std::shared_ptr<SoundSetup> sound;
    ReadAhead::Open prefetch;  ///< empty: nothing is prefetched
  };
  TableReader(std::shared_ptr<LaneConnection> shared, Parts parts, const ProcessConfig& config,
              Waker& waker);

  [[nodiscard]] Abilities abilities() const override { return {}; }
  [[nodiscard]] bool comes_after(const Position& row, const Position& other) const override;
  PollResult poll(const Wanted& wanted) override;
  PollResult reread(const std::vector<std::string>& ids, const std::optional<Position>& after,
                    unsigned rows_max) override;
  void expect(const Position& after, unsigned rows_max, Expected when) override;
  std::size_t ready(const Position& after) override;
  void claimed(std::uint64_t epoch, bool anew) override;
  void started() override;
  void forget() override;
  bool wait_until(Time deadline) override;
  [[nodiscard]] bool hints() const override { return wake_up_.hints(); }

 private:
  void refuse_changes();
  PollResult settled_rows(const Wanted& wanted, bool news);
  PollResult with_late_rows(PollResult round, const Wanted& wanted);
  [[nodiscard]] OrderKey looked_at(const PollResult& round, const std::optional<Position>& cursor);

  std::shared_ptr<LaneConnection> shared_;
  Connection& connection_;
  SourceConfig source_;
  PollSource poll_;
  RowReader rereader_;
  IdentityGuard identity_;
  SetupRecheck setup_;
  NotificationListener wake_up_;
  std::optional<WrittenOrder> written_order_;  ///< if late rows are delivered
  std::optional<LateCheck> late_check_;        ///< … too
  OrderKey first_row_at_ = order_key_min;      ///< read since the claim
  std::unique_ptr<ReadAhead> read_ahead_;      ///< if asked for, and no pooler in between
  bool quiet_ = false;                         ///< the last poll found nothing
  /// Rows that came while the lane is fenced are safe from newcomers once a poll found them older
  /// than insert_latency: one then, or who begins to write until the next hint holds them up too.
  std::optional<Time> ripe_at_;
};

}  // namespace seriatim::postgres
