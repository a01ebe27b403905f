#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "seriatim/handler.hpp"

namespace seriatim::testing {

/// A record as a lane would hand it over.
inline Record make_record(std::string payload, std::string id = "4711") {
  Record record;
  record.position = {1'700'000'000'123'456, std::move(id)};
  record.key = "customer-7";
  record.event_type = "booking.created";
  record.payload = std::move(payload);
  record.process = "bookings";
  record.lane = 2;
  record.sequence = 42;
  record.epoch = 3;
  record.previous_id = "4710";
  return record;
}

inline CallContext call_within(std::chrono::milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  return {deadline, deadline, {}};
}

/// What the lane makes of a call with this record alone.
inline Outcome outcome_of(Handler& handler, const Record& record, const CallContext& context) {
  return handler.handle({&record, 1}, context).next.value_or(Outcome::done());
}

}  // namespace seriatim::testing
