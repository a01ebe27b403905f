#include "simulation/table.hpp"

#include <algorithm>
#include <utility>

namespace seriatim::simulation {

namespace {

constexpr OrderKey clock_at_start = 1'000'000;

}  // namespace

Table::Table(Stage& stage) : stage_(stage) {
  stage_.evidence.clock.push_back({stage_.now(), clock()});
}

// --- what a transaction does ---------------------------------------------------------------------

Table::TransactionId Table::begin() {
  Transaction transaction;
  transaction.name = "3/" + std::to_string(transactions_.size() + 1);
  transaction.fast_path = stage_.random.chance(0.7);
  transactions_.push_back(std::move(transaction));
  return transactions_.size() - 1;
}

void Table::lock(TransactionId id, unsigned depth) {
  auto& transaction = transactions_[id];
  if (transaction.locked) return;
  transaction.locked = true;
  transaction.lock_depth = depth;
  stage_.trace(stage_.now(), "table", [&] { return transaction.name + " locks"; });
}

OrderKey Table::clock() const {
  return clock_at_start + stage_.now() + clock_step_;
}

OrderKey Table::draw_created_at() const {
  return clock() / stage_.setup.clock_tick * stage_.setup.clock_tick;
}

void Table::step_clock(Micros by) {
  latest_clock_ = std::max(latest_clock_, clock());
  clock_step_ += by;
  stage_.evidence.clock.push_back({stage_.now(), clock()});
  stage_.trace(stage_.now(), "server", [&] { return "clock steps by " + std::to_string(by); });
}

bool Table::clock_is_behind() const {
  return stage_.setup.order == OrderBy::created_at &&
         clock() + stage_.setup.insert_latency < latest_clock_;
}

void Table::insert(TransactionId id, OrderKey created_at, OrderKey row_id, unsigned depth,
                   bool astray) {
  const Row row{stage_.evidence.rows.size(),
                created_at,
                row_id,
                depth,
                stage_.strikes(stage_.setup.bad_payload),
                key_of(stage_.setup, stage_.evidence.rows.size())};
  stage_.evidence.rows.push_back(
      {{row_id, created_at, lab::hash_of(payload_of(row.number)), row.key},
       false,
       std::nullopt,
       astray,
       0,
       {}});
  transactions_[id].rows.push_back(row);
  stage_.trace(stage_.now(), "table", [&] {
    return transactions_[id].name + " inserts (" + std::to_string(created_at) + ", " +
           std::to_string(row_id) + ")" + (astray ? ", astray" : "");
  });
}

/// Undoes rows and, if it was taken since, the lock.
void Table::rollback_to(TransactionId id, unsigned depth) {
  auto& transaction = transactions_[id];
  std::erase_if(transaction.rows, [&](const Row& row) { return row.depth > depth; });
  if (transaction.lock_depth > depth) transaction.locked = false;
  stage_.trace(stage_.now(), "table", [&] { return transaction.name + " rolls back to"; });
}

void Table::rollback(TransactionId id) {
  auto& transaction = transactions_[id];
  transaction.rows.clear();
  transaction.locked = false;
  transaction.state = Transaction::State::ended;
  stage_.trace(stage_.now(), "table", [&] { return transaction.name + " rolls back"; });
}

void Table::leave_fast_path(TransactionId id) {
  transactions_[id].fast_path = false;
}

void Table::prepare(TransactionId id) {
  auto& transaction = transactions_[id];
  transaction.lsn = wal.commit(true);
  transaction.prepared = true;
  const auto name = "-1/" + std::to_string(4711 + id);
  stage_.trace(stage_.now(), "table", [&] { return transaction.name + " is prepared as " + name; });
  transaction.name = name;
}

void Table::write_commit(TransactionId id, bool synchronous) {
  auto& transaction = transactions_[id];
  transaction.lsn = wal.commit(synchronous || transaction.prepared);
  transaction.state = Transaction::State::written;
}

void Table::show(TransactionId id) {
  auto& transaction = transactions_[id];
  transaction.state = Transaction::State::visible;
  for (const auto& row : transaction.rows) {
    visible_.emplace_back(transaction.lsn, row);
    stage_.evidence.rows[row.number].committed = true;
    stage_.evidence.rows[row.number].visible_at = stage_.now();
  }
  sort_visible();
  stage_.trace(stage_.now(), "table", [&] { return transaction.name + " is visible"; });
}

void Table::sort_visible() {
  std::sort(visible_.begin(), visible_.end(), [&](const auto& a, const auto& b) {
    return std::pair(order_key_of(a.second), a.second.id) <
           std::pair(order_key_of(b.second), b.second.id);
  });
}

void Table::let_go(TransactionId id) {
  auto& transaction = transactions_[id];
  transaction.locked = false;
  transaction.state = Transaction::State::ended;
  stage_.trace(stage_.now(), "table", [&] { return transaction.name + " lets go"; });
}

bool Table::is_open(TransactionId id) const {
  return transactions_[id].state != Transaction::State::ended;
}

std::size_t Table::open_transactions() const {
  return static_cast<std::size_t>(
      std::count_if(transactions_.begin(), transactions_.end(),
                    [](const Transaction& t) { return t.state != Transaction::State::ended; }));
}

// --- what a person does to a row -----------------------------------------------------------------

void Table::give_new_place(const std::string& id) {
  const auto found = std::find_if(visible_.begin(), visible_.end(), [&](const auto& entry) {
    return std::to_string(entry.second.id) == id;
  });
  if (found == visible_.end()) return;
  auto& row = found->second;
  auto& seen = stage_.evidence.rows;
  if (stage_.setup.order == OrderBy::id) {
    stage_.evidence.removals.push_back({stage_.now(), row.id});
    row.number = seen.size();
    row.id = draw_id();
    const auto body = lab::hash_of(payload_of(row.number));
    seen.push_back(
        {{row.id, draw_created_at(), body, row.key}, true, std::nullopt, false, stage_.now(), {}});
  } else {
    seen[row.number].moved_at = seen[row.number].visible_at = stage_.now();
    seen[row.number].astray = clock_is_behind();
  }
  row.created_at = seen[row.number].created_at_us = draw_created_at();
  found->first = wal.commit(true);
  sort_visible();
}

// --- the server dies and recovers ----------------------------------------------------------------

void Table::crash() {
  undo_unflushed();
  for (TransactionId id = 0; id < transactions_.size(); ++id) {
    auto& transaction = transactions_[id];
    if (transaction.state == Transaction::State::ended) continue;
    const bool committed = transaction.state != Transaction::State::active;
    const bool safe = transaction.lsn != 0 && transaction.lsn <= wal.flushed;
    if (transaction.state == Transaction::State::written && safe) show(id);
    if (committed) {
      let_go(id);
    } else if (!transaction.prepared) {
      rollback(id);
    }
  }
  wal.written = wal.flushed;
}

/// Rows of commits that were not flushed are gone.
void Table::undo_unflushed() {
  std::erase_if(visible_, [&](const auto& entry) {
    const auto& row = entry.second;
    if (entry.first <= wal.flushed) return false;
    stage_.evidence.rows[row.number].lost_at = stage_.now();
    stage_.trace(stage_.now(), "table", [&] { return "lost row " + std::to_string(row.id); });
    return true;
  });
}

// --- what a poll reads ---------------------------------------------------------------------------

std::optional<OrderKey> Table::high_mark(const std::optional<Position>& after,
                                         unsigned rows_max) const {
  if (stage_.setup.order == OrderBy::created_at) {
    const bool blunt = stage_.sabotaged(Sabotage::no_insert_latency);
    return draw_created_at() - (blunt ? 0 : stage_.setup.insert_latency);
  }
  const auto candidates = rows_after(after);
  if (candidates.empty()) return std::nullopt;
  return candidates[std::min<std::size_t>(rows_max, candidates.size()) - 1].id + 1;
}

std::vector<core::Holder> Table::fast_path_holders() const {
  std::vector<core::Holder> holders;
  for (const auto& t : transactions_) {
    if (t.locked && !t.prepared && t.fast_path) holders.push_back({t.name, false});
  }
  return holders;
}

std::vector<core::Holder> Table::shared_holders() const {
  std::vector<core::Holder> holders;
  for (const auto& t : transactions_) {
    if (t.locked && (t.prepared || !t.fast_path)) holders.push_back({t.name, t.prepared});
  }
  return holders;
}

std::vector<Table::Row> Table::rows_after(const std::optional<Position>& cursor) const {
  std::vector<Row> rows;
  for (const auto& [lsn, row] : visible_) {
    if (cursor && order_key_of(row) < order_key_of(*cursor)) continue;
    if (!cursor || core::comes_after(position_of(row), *cursor, stage_.setup.order)) {
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<Table::Row> Table::rows_between(const std::optional<Position>& after,
                                            const Position& up_to) const {
  auto rows = rows_after(after);
  std::erase_if(rows, [&](const Row& row) {
    return core::comes_after(position_of(row), up_to, stage_.setup.order);
  });
  return rows;
}

std::optional<Table::Row> Table::row(const std::string& id) const {
  for (const auto& [lsn, row] : visible_) {
    if (std::to_string(row.id) == id) return row;
  }
  return std::nullopt;
}

OrderKey Table::order_key_of(const Row& row) const {
  return stage_.setup.order == OrderBy::id ? row.id : row.created_at;
}

OrderKey Table::order_key_of(const Position& position) const {
  return stage_.setup.order == OrderBy::id ? std::stoll(position.id) : position.created_at_us;
}

}  // namespace seriatim::simulation
