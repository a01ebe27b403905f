#pragma once

#include <string>
#include <thread>

#include "app/log.hpp"

namespace seriatim::app {

/// Has the next partitions of seriatim.outbox created, now and every hour, where `init
/// --partitioned` was run; a connection of its own for that moment. What goes wrong is logged:
/// there are partitions for days, and a default one after that.
class PartitionKeeper {
 public:
  PartitionKeeper(std::string url, Log& log);

 private:
  std::jthread thread_;
};

}  // namespace seriatim::app
