#pragma once

#include "simulation/server.hpp"

namespace seriatim::simulation {

/// A client that writes the outbox table, one transaction after another, one step at a time.
class Producer {
 public:
  Producer(Stage& stage, Server& server) : stage_(stage), server_(server) {}

  void start() { next(stage_.random.between(0, 20 * millisecond)); }

 private:
  void next(Micros delay);
  void step();
  void think();
  void begin();
  void savepoint_or_insert();
  void insert();
  void insert_astray();
  void write(OrderKey created_at, OrderKey id, bool astray);
  void end();
  void commit();
  void prepare();
  void finish_prepared(Table::TransactionId id);
  void show_and_let_go(Table::TransactionId id);
  [[nodiscard]] Micros pause();
  /// Runs `step` later unless the transaction has ended meanwhile (the server crashed).
  void in_transaction(Micros delay, std::function<void()> step);

  Stage& stage_;
  Server& server_;
  std::optional<Table::TransactionId> transaction_;
  unsigned inserts_left_ = 0;
  unsigned depth_ = 0;  ///< open savepoints
};

}  // namespace seriatim::simulation
