#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "seriatim/options.hpp"
#include "support/service_config.hpp"

namespace seriatim::handlers {

struct RabbitmqHandlerConfig : ServiceConfig {
  /// What becomes of a row that cannot go where it should.
  enum class Misrouted { poison, retry };

  RabbitmqHandlerConfig() { username = password = "guest"; }  // as a new server has it

  std::string vhost = "/";
  std::string exchange;  ///< template; empty: the default exchange, whose routing keys are queues
  std::string routing_key;                   ///< template
  bool mandatory = true;                     ///< false: done though no queue has it
  Misrouted unroutable = Misrouted::poison;  ///< no queue is bound for its routing key
  Misrouted missing_exchange = Misrouted::retry;
  std::size_t in_flight = 1'000;  ///< rows sent and not yet confirmed; 1: one at a time
  bool try_routes = true;         ///< a routing key not yet confirmed here travels alone
  std::chrono::milliseconds idle_max{60'000};  ///< a connection unused for longer is not used again
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] RabbitmqHandlerConfig read_rabbitmq_config(Options& options);

}  // namespace seriatim::handlers
