#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/queueing.hpp"
#include "seriatim/source.hpp"
#include "simulation/stage.hpp"

namespace seriatim::simulation {

/// Which parked rows an operator means: one, those of a key, or all.
struct ParkedChoice {
  std::optional<std::string> id;
  std::optional<std::string> key;
  [[nodiscard]] bool all() const { return !id && !key; }
};

/// seriatim.aside, with the statements of sql/store on it.
class AsideStore {
 public:
  struct Row {
    Position position;
    std::optional<std::string> key;
    std::uint64_t number = 0;  ///< the order they were set aside in, and go out in
    bool parked = false;       ///< once: it failed, or queues behind one that did
    bool holds_key = false;
    bool head = false;  ///< the first of its key, or a dead letter
    bool due = false;   ///< it goes out before the rows after the cursor
    bool begun = false;
    bool late = false;
    Micros failed_at = 0;
    std::optional<Micros> retry_at{};  ///< held: it is due then, by itself
    unsigned attempts = 0;             ///< that failed
  };

  explicit AsideStore(Stage& stage) : stage_(stage) {}

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Those that were parked.
  [[nodiscard]] std::vector<Row> parked() const;
  [[nodiscard]] const Row* find_parked(const std::string& id) const;
  [[nodiscard]] bool has(const std::string& id) const { return find(id) != nullptr; }
  [[nodiscard]] unsigned heads() const;
  [[nodiscard]] unsigned held() const;
  /// Keys whose rows queue.
  [[nodiscard]] ParkedKeys keys() const;
  /// The rows that go out next: what was begun, then the others, in their order.
  [[nodiscard]] std::vector<Row> due() const;

  /// Until the next held key is due.
  [[nodiscard]] std::optional<Micros> held_for() const;
  /// Held keys whose time has come, of each at most so many rows.
  void release_held(unsigned rows_max);

  /// The rows of a batch are begun; those that are not there yet come there in this order.
  void begin(const Batch& batch);
  /// Answers whether one is due at once: the rows before it were delivered since it was read.
  bool queue(const std::vector<QueuedRow>& rows, std::uint64_t epoch);
  /// Handed over. Answers the keys that they held and of which no row is left.
  std::vector<std::optional<std::string>> take(const std::vector<Position>& rows);
  /// A row that is parked already stays so, and the rows of its key wait with it. Answers whether
  /// it holds its key.
  bool park(const Park& parking, std::uint64_t epoch);
  void redrive(const ParkedChoice& choice);
  std::vector<Row> discard(const ParkedChoice& choice);
  /// Parked rows that were begun are due still, and begin anew.
  void put_back_begun();
  /// It cannot go out: parked again, or no longer there. Answers whether a receiver may have it.
  bool leave_out(const std::string& id);
  /// A row that was not parked is set aside for good.
  void skip(const std::string& id);
  /// What comes after `place` comes again in its order.
  void forget_after(const std::optional<Position>& place);
  /// What is jumped over.
  void forget_between(const std::optional<Position>& from, const Position& to);
  /// The batch in flight, but for its late rows.
  void forget_batch();

 private:
  [[nodiscard]] const Row* find(const std::string& id) const;
  [[nodiscard]] Row* find(const std::string& id);
  void put_back(Row& row);
  void promote_heads();

  Stage& stage_;
  std::vector<Row> rows_;  ///< by number
  std::uint64_t next_number_ = 1;
};

}  // namespace seriatim::simulation
