#include "bench/waits.hpp"

#include <algorithm>

#include "bench/clock.hpp"

namespace seriatim::bench {

namespace {

double ms(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

/// The oldest transaction that was open at some time between, as old as it was then.
double oldest_ms(const std::vector<LongWrite>& held, std::int64_t from, std::int64_t to) {
  std::int64_t oldest = 0;
  for (const auto& one : held) {
    if (one.began_ns > to || one.ended_ns < from) continue;
    oldest = std::max(oldest, std::min(one.ended_ns, to) - one.began_ns);
  }
  return ms(oldest);
}

}  // namespace

std::vector<Wait> waits_of(const Written& written,
                           const std::map<std::int64_t, std::int64_t>& called_ns) {
  std::vector<Wait> waits;
  for (const auto& [id, committed] : written.committed_ns) {
    const auto called = called_ns.find(id);
    if (called == called_ns.end()) continue;
    const auto waited = ms(called->second - committed);
    waits.push_back(
        {committed, waited, waited - oldest_ms(written.held, committed, called->second)});
  }
  std::sort(waits.begin(), waits.end(),
            [](const Wait& a, const Wait& b) { return a.committed_ns < b.committed_ns; });
  return waits;
}

void note_waits(const std::vector<Wait>& waits, unsigned windows, bool with_excess,
                Figure& figure) {
  for (unsigned window = 0; window < windows; ++window) {
    const auto first = waits.size() * window / windows;
    const auto last = waits.size() * (window + 1) / windows;
    if (first == last) continue;
    std::vector<double> all;
    std::vector<double> excess;
    for (auto i = first; i < last; ++i) {
      all.push_back(waits[i].ms);
      excess.push_back(waits[i].excess_ms);
    }
    const auto took = waits[last - 1].committed_ns - waits[first].committed_ns;
    figure.rates.push_back(per_second(last - first - 1, took));
    figure.note("p50_ms", percentile(all, 0.5));
    figure.note("p99_ms", percentile(all, 0.99));
    if (!with_excess) continue;
    figure.note("over_oldest_writer_p50_ms", percentile(excess, 0.5));
    figure.note("over_oldest_writer_p99_ms", percentile(excess, 0.99));
    figure.note("over_oldest_writer_max_ms", percentile(excess, 1));
  }
}

}  // namespace seriatim::bench
