#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/fiber.hpp"
#include "simulation/relay.hpp"
#include "simulation/server.hpp"

namespace seriatim::simulation {

/// The auditor of a relay process: it lives, freezes and dies with that, on a connection of its
/// own. A turn checks the newest rows behind the cursor, then at one older bucket; what it finds
/// halts the lane by an act, which compares again. Others act between any two of its steps.
class Auditor {
 public:
  Auditor(Stage& stage, Server& server, const Relay& relay)
      : stage_(stage), server_(server), relay_(relay) {}

  void start();

 private:
  struct Gone {};  ///< the turn ends: the relay is dead, or the server does not answer

  void live();
  void turn();
  void walk();
  void check_behind(const NotedRange& range);
  [[nodiscard]] std::vector<Table::Row> late_rows(const NotedRange& range) const;
  void halt(const NotedRange& range, std::int64_t found);
  void pass(Micros delay);
  void at_server();
  [[nodiscard]] bool is_ours() const;
  [[nodiscard]] Position audited_up_to() const;

  Stage& stage_;
  Server& server_;
  const Relay& relay_;
  std::string life_;  ///< the relay's, when the turn began
  Cursor seen_;       ///< as the turn found it
  LeaseWatch watch_;
  std::size_t buckets_walked_ = 0;
  std::shared_ptr<Fiber> thread_;
};

}  // namespace seriatim::simulation
