#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "lab/proxy/fault_proxy.hpp"
#include "lab/writers/session.hpp"

namespace seriatim::torture {

using lab::Session;

/// Bad weather on both of the relays' ways: to the database and to the receiver. The producers and
/// the checker go straight.
///
/// Every storm is over before a call in flight would be given up (handler_deadline of relays.cpp),
/// so that each of them can cause one repeat a lane and no more.
class Network {
 public:
  Network(const std::string& database_url, std::uint16_t receiver_port, std::uint64_t seed);

  /// The database's URL by way of the proxy.
  [[nodiscard]] const std::string& database_url() const { return database_url_; }
  [[nodiscard]] std::uint16_t receiver_port() const { return receiver_.port(); }

  /// Begins what the dice say, on one of the ways; answers what it is, "database half_open". The
  /// storm before it ends.
  std::string storm(std::uint64_t dice);
  /// Ends a storm whose time is over.
  void tick();
  void calm();

 private:
  using Clock = std::chrono::steady_clock;

  Network(const Session& server, const std::string& database_url, std::uint16_t receiver_port,
          std::uint64_t seed);

  FaultProxy database_;
  FaultProxy receiver_;
  std::string database_url_;
  std::function<void()> end_;  ///< of the storm going on; empty: calm
  Clock::time_point until_;
};

}  // namespace seriatim::torture
