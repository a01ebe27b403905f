#pragma once

#include <deque>

#include "simulation/relay.hpp"

namespace seriatim::simulation {

/// A lane's statements about its cursor, sent to the simulated server.
class Relay::LaneStore final : public Store {
 public:
  LaneStore(Relay& relay, BackendPtr backend) : relay_(relay), backend_(std::move(backend)) {}
  ~LaneStore() override;

  Claim claim() override;
  Cursor read_cursor() override;
  Grant start(std::uint64_t epoch, const Start& start, const Batch& batch) override;
  SettleAnswer settle(std::uint64_t epoch, const Settlement& settlement,
                      const Batch& batch) override;
  void release(std::uint64_t epoch, bool untouched) override;
  ParkedKeys parked_keys() override;
  DueRows due_rows(std::uint64_t epoch, unsigned rows_max, const DueChoice& choice) override;
  LeftOut leave_out(std::uint64_t epoch, const DueRow& row,
                    const std::optional<std::string>& unreadable) override;
  bool is_lost() noexcept override;

 private:
  Relay& relay_;
  BackendPtr backend_;
};

/// Several calls at once.
class Relay::Flights final : public runtime::Calls {
 public:
  Flights(Relay& relay, runtime::CallNeeds needs);
  void begin_until(Time not_after) override;
  void begin(std::shared_ptr<const Record> row) override;
  void revoke() override;
  std::vector<core::Answer> take() override;
  [[nodiscard]] Time earliest_deadline() override { return Time::max(); }

 private:
  void fill();
  void call(const Record& row);

  Relay& relay_;
  runtime::CallNeeds needs_;
  Time not_after_;
  std::deque<std::shared_ptr<const Record>> waiting_;
  std::vector<core::Answer> answers_;
  unsigned in_flight_ = 0;
  std::vector<std::shared_ptr<Fiber>> calls_;
};

/// A lane's polls: F, the locks, the rows, each at a moment of its own.
class Relay::TableReader final : public Reader {
 public:
  TableReader(Relay& relay, BackendPtr backend) : relay_(relay), backend_(std::move(backend)) {}
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
  [[nodiscard]] bool hints() const override;

 private:
  /// What one connection remembers from poll to poll.
  struct Memory {
    std::optional<core::Fence> fence;
    OrderKey fence_from = order_key_min;  ///< the cursor it began at
    OrderKey latest_clock = order_key_min;
  };
  /// What is read while a call is in flight, on a connection of its own.
  struct Ahead {
    Position after;
    unsigned rows_max = 1;
    bool done = false;
    PollResult round;  ///< done, and without rows: no use
  };

  void at_server(Micros delay);
  PollResult settled_rows(const Wanted& wanted);
  PollResult read(const Wanted& wanted, Memory& memory);
  PollResult settled_of(const std::vector<Table::Row>& rows, const Wanted& wanted,
                        OrderKey settled) const;
  [[nodiscard]] bool clock_went_back(const Wanted& wanted, Memory& memory) const;
  OrderKey settle(OrderKey f, const std::vector<core::Holder>& holders, const Wanted& wanted,
                  Memory& memory) const;
  void add(PollResult& round, const Table::Row& row, const std::optional<Position>& cursor) const;
  std::optional<PollResult> take_ahead(const Wanted& wanted);
  std::optional<PollResult> take_behind(Wanted& wanted);
  PollResult with_late_rows(PollResult round, const Wanted& wanted);
  [[nodiscard]] OrderKey looked_at(const PollResult& round, const std::optional<Position>& after);
  void trace(const PollResult& round) const;

  Relay& relay_;
  BackendPtr backend_;
  Memory memory_;
  Memory ahead_memory_;
  std::shared_ptr<Ahead> ahead_;
  std::shared_ptr<Fiber> reading_ahead_;
  // If late rows are delivered:
  Micros next_check_ = 0;
  std::optional<OrderKey> looked_at_;  ///< the cursor at the last complete check
  OrderKey first_row_at_ = order_key_min;
  std::optional<OrderKey> soon_;  ///< … once what it found is put aside
  bool found_ = false;            ///< rows that are not put aside yet
};

}  // namespace seriatim::simulation
