#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "simulation/cursor_store.hpp"
#include "simulation/table.hpp"

namespace seriatim::simulation {

/// The PostgreSQL server: its backends and its crashes.
class Server {
 public:
  explicit Server(Stage& stage) : stage_(stage), table_(stage), cursors_(stage, table_) {}

  Table& table() { return table_; }
  CursorStore& cursors() { return cursors_; }
  [[nodiscard]] bool is_up() const { return up_; }

  /// Background trouble and background work.
  void start();

  BackendPtr connect(unsigned relay, const std::string& holder, std::shared_ptr<LeaseWatch> watch);
  /// A client says good-bye.
  void close(const BackendPtr& backend);
  /// The backend goes. Harmless if it has gone already.
  void end(const BackendPtr& backend, const char* why);

  void crash_within(Micros time);

  /// New rows are visible: `listener` is notified, unless the hint is lost.
  void on_notify(std::function<void()> listener) { listeners_.push_back(std::move(listener)); }
  void notify();

 private:
  void flush_wal_sometimes();
  void step_clock_sometimes();
  void set_clock_wrong_sometimes();
  void terminate_a_backend();
  void crash();
  void plan_crash();
  void plan_termination();

  Stage& stage_;
  Table table_;
  CursorStore cursors_;
  bool up_ = true;
  std::vector<BackendPtr> backends_;
  std::vector<std::function<void()>> listeners_;
};

}  // namespace seriatim::simulation
