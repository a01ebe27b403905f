#include "simulation/producer.hpp"

#include <algorithm>

namespace seriatim::simulation {

namespace {

Micros moment(Stage& stage) {
  return stage.random.between(20, 800);
}

}  // namespace

void Producer::next(Micros delay) {
  stage_.scheduler.after(delay, [this] { step(); });
}

Micros Producer::pause() {
  if (stage_.strikes(stage_.setup.long_transaction)) {
    return stage_.random.between(20, 600) * millisecond;
  }
  return stage_.random.between(50, 3 * millisecond);
}

/// Between two transactions.
void Producer::think() {
  transaction_.reset();
  next(stage_.random.between(50, stage_.setup.think_max));
}

void Producer::in_transaction(Micros delay, std::function<void()> step) {
  const auto id = *transaction_;
  stage_.scheduler.after(delay, [this, id, step = std::move(step)] {
    if (server_.table().is_open(id)) {
      step();
    } else if (transaction_ == id) {
      think();
    }
  });
}

void Producer::step() {
  if (!transaction_) return begin();
  if (!server_.table().is_open(*transaction_)) {
    return think();
  }
  if (inserts_left_ > 0) return savepoint_or_insert();
  end();
}

void Producer::begin() {
  if (stage_.faults_over) return;
  const bool enough = stage_.evidence.rows.size() >= stage_.setup.rows_max;
  if (enough || !server_.is_up()) return next(100 * millisecond);
  transaction_ = server_.table().begin();
  const auto room = stage_.setup.rows_max - stage_.evidence.rows.size();
  inserts_left_ = static_cast<unsigned>(
      stage_.random.between(1, std::min<std::int64_t>(3, static_cast<std::int64_t>(room))));
  depth_ = 0;
  next(pause());
}

void Producer::savepoint_or_insert() {
  if (stage_.strikes(stage_.setup.savepoint)) {
    if (depth_ > 0 && stage_.random.chance(0.4)) {
      server_.table().rollback_to(*transaction_, --depth_);
    } else {
      ++depth_;
    }
    return next(pause());
  }
  insert();
}

/// The lock is held before any default is evaluated; time may pass between all of them.
void Producer::insert() {
  --inserts_left_;
  if (stage_.strikes(stage_.setup.astray)) return insert_astray();
  server_.table().lock(*transaction_, depth_);
  in_transaction(moment(stage_), [this] {
    const OrderKey created_at = server_.table().draw_created_at();
    const bool astray = server_.table().clock_is_behind();
    in_transaction(moment(stage_), [this, created_at, astray] {
      write(created_at, server_.table().draw_id(), astray);
    });
  });
}

/// An explicit created_at, the transaction's start, a client's clock; an id drawn long before its
/// insert: nobody holds a lock meanwhile.
void Producer::insert_astray() {
  const auto& setup = stage_.setup;
  const OrderKey created_at =
      server_.table().draw_created_at() + stage_.random.between(-setup.astray_max, setup.ahead_max);
  const OrderKey id = server_.table().draw_id();
  in_transaction(stage_.random.between(millisecond, stage_.setup.astray_max),
                 [this, created_at, id] {
                   server_.table().lock(*transaction_, depth_);
                   write(created_at, id, true);
                 });
}

void Producer::write(OrderKey created_at, OrderKey id, bool astray) {
  in_transaction(moment(stage_), [this, created_at, id, astray] {
    server_.table().insert(*transaction_, created_at, id, depth_, astray);
    next(pause());
  });
}

void Producer::end() {
  if (stage_.strikes(stage_.setup.rollback)) {
    server_.table().rollback(*transaction_);
    return think();
  }
  stage_.strikes(stage_.setup.prepare) ? prepare() : commit();
}

void Producer::commit() {
  const auto id = *transaction_;
  server_.table().write_commit(id, !stage_.strikes(stage_.setup.async_commit));
  show_and_let_go(id);
  think();
}

void Producer::prepare() {
  const auto id = *transaction_;
  server_.table().leave_fast_path(id);
  in_transaction(moment(stage_), [this, id] {
    server_.table().prepare(id);
    const auto wait = stage_.strikes(0.3) ? stage_.random.between(100, 2'000) : 20;
    stage_.scheduler.after(stage_.random.between(1, wait * millisecond),
                           [this, id] { finish_prepared(id); });
    think();
  });
}

void Producer::finish_prepared(Table::TransactionId id) {
  if (!server_.is_up()) {
    return stage_.scheduler.after(50 * millisecond, [this, id] { finish_prepared(id); });
  }
  if (stage_.strikes(stage_.setup.rollback)) return server_.table().rollback(id);
  server_.table().write_commit(id, true);
  show_and_let_go(id);
}

/// PostgreSQL leaves the proc array, then lets its locks go.
void Producer::show_and_let_go(Table::TransactionId id) {
  auto& table = server_.table();
  stage_.scheduler.after(stage_.random.between(1, 500), [this, &table, id] {
    if (!table.is_open(id)) return;
    table.show(id);
    server_.notify();
    stage_.scheduler.after(stage_.random.between(1, 500), [&table, id] {
      if (table.is_open(id)) table.let_go(id);
    });
  });
}

}  // namespace seriatim::simulation
