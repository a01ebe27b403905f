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

/// seriatim.parked, with the statements of sql/store on it.
class ParkedStore {
 public:
  struct Row {
    Position position;
    std::optional<std::string> key;
    std::uint64_t number = 0;  ///< the order they were set aside in, and go out in
    bool holds_key = false;
    bool head = false;  ///< the first of its key, or a dead letter
    bool due = false;   ///< it is to be handed over again
    Micros failed_at = 0;
  };

  explicit ParkedStore(Stage& stage) : stage_(stage) {}

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const Row* find(const std::string& id) const;
  [[nodiscard]] unsigned heads() const;
  /// Keys whose rows queue.
  [[nodiscard]] core::ParkedKeys keys() const;
  /// The row to be handed over again next: one of `planned` before any other.
  [[nodiscard]] std::optional<std::string> next_due(const std::vector<std::string>& planned) const;

  void queue(const std::vector<QueuedRow>& rows, std::uint64_t epoch);
  struct Taken {
    bool ends_key = false;  ///< it held its key, and no row of it is left
    std::optional<std::string> key;
  };
  Taken take(const std::string& id);
  /// A row that is parked already stays so, and the rows of its key wait with it. Answers whether
  /// it holds its key.
  bool park(const Parking& parking, std::uint64_t epoch);
  void redrive(const ParkedChoice& choice);
  std::vector<std::string> discard(const ParkedChoice& choice);
  /// What comes after `place` comes again in its order.
  void forget_after(const std::optional<Position>& place);

 private:
  [[nodiscard]] Row* find(const std::string& id);
  void promote_heads();

  Stage& stage_;
  std::vector<Row> rows_;  ///< by number
  std::uint64_t next_number_ = 1;
};

}  // namespace seriatim::simulation
