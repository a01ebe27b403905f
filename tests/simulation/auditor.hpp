#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "simulation/relay.hpp"
#include "simulation/server.hpp"

namespace seriatim::simulation {

/// The auditor of a relay process: it lives, freezes and dies with that, on a connection of its
/// own. A turn looks at the newest rows behind the cursor, then at one older bucket; what it finds
/// halts the lane by an act, which compares again. Others act between any two of its steps.
class Auditor {
 public:
  Auditor(Stage& stage, Server& server, const Relay& relay)
      : stage_(stage), server_(server), relay_(relay) {}

  void start();

 private:
  using Step = std::function<void()>;

  void turn();
  void walk();
  void look_behind(const NotedRange& range, const Step& then);
  [[nodiscard]] std::vector<Table::Row> late_rows(const NotedRange& range) const;
  void halt(const NotedRange& range, std::int64_t found);
  void at_server(Micros delay, const Step& step);
  [[nodiscard]] bool is_ours() const;
  [[nodiscard]] Position audited_up_to() const;

  Stage& stage_;
  Server& server_;
  const Relay& relay_;
  std::string life_;  ///< the relay's, when the turn began
  Cursor seen_;       ///< as the turn found it
  LeaseWatch watch_;
  std::size_t buckets_walked_ = 0;
};

}  // namespace seriatim::simulation
