// What the tests of brokers' handlers give to a call and ask of its outcome.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/handler_calls.hpp"

namespace seriatim::testing {

/// Rows whose ids are their sequence numbers.
inline std::vector<Record> numbered_rows(std::uint64_t first, std::uint64_t last,
                                         std::size_t payload_bytes = 20) {
  std::vector<Record> all;
  for (auto n = first; n <= last; ++n) {
    all.push_back(make_record(std::string(payload_bytes, 'x'), std::to_string(n)));
    all.back().sequence = n;
  }
  return all;
}

/// "1 2 3 …", each with `tail`.
inline std::string numbers_up_to(std::size_t count, const std::string& tail = "") {
  std::string ids;
  for (std::size_t n = 1; n <= count; ++n) ids += (n == 1 ? "" : " ") + std::to_string(n) + tail;
  return ids;
}

inline BatchOutcome deliver(Handler& handler, const std::vector<Record>& batch,
                            std::chrono::milliseconds time = std::chrono::seconds{30}) {
  return handler.handle(batch, call_within(time));
}

inline bool all_done(const BatchOutcome& outcome, const std::vector<Record>& batch) {
  if (outcome.next) MESSAGE(outcome.next->reason);
  return outcome.done == batch.size() && !outcome.next;
}

inline bool says(const BatchOutcome& outcome, const std::string& text) {
  if (!outcome.next) return false;
  CAPTURE(outcome.next->reason);
  CHECK(outcome.next->reason.find(text) != std::string::npos);
  return outcome.next->reason.find(text) != std::string::npos;
}

inline bool fails(const BatchOutcome& outcome, Outcome::Kind kind, const std::string& text) {
  if (!says(outcome, text)) return false;
  CHECK(outcome.next->kind == kind);
  return outcome.next->kind == kind;
}

}  // namespace seriatim::testing
