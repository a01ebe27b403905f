#pragma once

#include <doctest/doctest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contract/handler_lane.hpp"

namespace seriatim::testing {

/// One way to hand a batch to a server.
using SendBatch = std::function<void(std::span<const Record> batch)>;

struct Rate {
  double rows_per_second = 0;
  double cpu_us_per_row = 0;  ///< of this thread
};

inline double thread_cpu_seconds() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

/// All rows once, in batches; their numbers go on from `first`, so that no row is a repeat.
inline Rate rate_of(const SendBatch& send, std::vector<Record>& rows, std::uint64_t first,
                    std::size_t batch_rows) {
  for (auto& row : rows) row.sequence = first++;
  const auto began = std::chrono::steady_clock::now();
  const auto cpu = thread_cpu_seconds();
  for (std::size_t at = 0; at < rows.size(); at += batch_rows) {
    send(std::span(rows).subspan(at, std::min(batch_rows, rows.size() - at)));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto count = static_cast<double>(rows.size());
  return {count / took.count(), (thread_cpu_seconds() - cpu) * 1e6 / count};
}

/// The handler next to the client library's own loop, turn by turn on the same server; prints the
/// median of each and their ratio.
inline void compare(const char* what, const SendBatch& handler, const SendBatch& raw,
                    std::size_t payload_bytes, std::size_t batch_rows, int turns = 7) {
  auto rows = make_rows(20'000);
  for (auto& row : rows) row.payload = std::string(payload_bytes, 'x');
  std::vector<Rate> ours;
  std::vector<Rate> theirs;
  std::uint64_t first = 1;
  for (int turn = 0; turn < turns; ++turn, first += rows.size()) {
    ours.push_back(rate_of(handler, rows, first, batch_rows));
    theirs.push_back(rate_of(raw, rows, first, batch_rows));
  }
  const auto slower = [](const Rate& a, const Rate& b) {
    return a.rows_per_second < b.rows_per_second;
  };
  std::sort(ours.begin(), ours.end(), slower);
  std::sort(theirs.begin(), theirs.end(), slower);
  const auto& mine = ours[ours.size() / 2];
  const auto& plain = theirs[theirs.size() / 2];
  std::printf(
      "%s, payload %5zu B, batch %4zu: %7.0f rows/s (%.1f µs CPU a row), raw client %7.0f rows/s "
      "(%.1f µs), ratio %3.0f %%\n",
      what, payload_bytes, batch_rows, mine.rows_per_second, mine.cpu_us_per_row,
      plain.rows_per_second, plain.cpu_us_per_row,
      100 * mine.rows_per_second / plain.rows_per_second);
}

}  // namespace seriatim::testing
