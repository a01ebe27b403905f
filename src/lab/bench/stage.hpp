#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lab/bench/bench.hpp"
#include "lab/bench/database.hpp"
#include "lab/bench/relay_child.hpp"

namespace seriatim::bench {

/// A database of its own with the table `events`, an outbox of 300-byte rows with ids 1, 2, 3 …;
/// gone with this object.
class Stage {
 public:
  Stage(const Settings& settings, const Progress& progress, std::stop_token stop);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// The table, for about so many rows; once.
  void create_events(std::uint64_t rows);
  void append(std::uint64_t rows);
  /// Makes it as a server is that has been left alone since the rows came.
  void settle();

  /// A relay that is to deliver the table; the process's name is one never used before.
  [[nodiscard]] RelaySpec spec(OrderBy order);
  [[nodiscard]] std::unique_ptr<RelayChild> start(const RelaySpec& spec) const;
  /// Processor time of the relay's backends; 0 if it cannot be seen.
  [[nodiscard]] double backend_cpu();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Database& control() { return *control_; }
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& database() const { return name_; }
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  void check_stop() const;
  void report(const std::string& line) const { progress_(line); }
  /// A figure with the settings that every one has.
  [[nodiscard]] Figure figure(const std::string& name, const std::string& what) const;

 private:
  void create_partitions(std::uint64_t rows);

  const Settings& settings_;
  const Progress& progress_;
  std::stop_token stop_;
  std::string name_;
  std::string url_;
  std::string max_connections_;
  std::unique_ptr<Database> control_;
  std::vector<std::unique_ptr<Database>> idle_;
  unsigned processes_ = 0;
};

[[nodiscard]] inline const char* to_text(OrderBy order) {
  return order == OrderBy::id ? "id" : "created_at";
}

}  // namespace seriatim::bench
