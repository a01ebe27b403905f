#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <thread>

#include "lab/bench/stage.hpp"

namespace seriatim::bench {

/// The limit of commit to call: LISTEN, and SELECT what lies after the last row, through libpq. It
/// keeps none of the relay's promises (a row that commits late is passed over) and writes nothing;
/// `durable`: a commit of one row comes before rows count as received, without which nobody can say
/// that a crash of the server leaves them there.
class RawListener {
 public:
  RawListener(Stage& stage, OrderBy order, bool durable);
  ~RawListener();
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;

  /// Ends it: when each row (by id) was received.
  std::map<std::int64_t, std::int64_t> finish();

 private:
  void listen();
  Result fetch();

  Database database_;
  OrderBy order_;
  bool durable_;
  std::string id_;
  std::string stamp_;
  std::map<std::int64_t, std::int64_t> arrivals_;
  std::exception_ptr failed_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace seriatim::bench
