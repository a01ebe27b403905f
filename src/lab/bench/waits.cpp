#include "lab/bench/waits.hpp"

#include <algorithm>

#include "lab/bench/clock.hpp"

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
                           const std::map<std::int64_t, std::int64_t>& called_ns,
                           std::chrono::milliseconds first_moments) {
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
  const auto counted = std::find_if(waits.begin(), waits.end(), [&](const Wait& wait) {
    return ms(wait.committed_ns - waits.front().committed_ns) >=
           static_cast<double>(first_moments.count());
  });
  waits.erase(waits.begin(), counted);
  return waits;
}

void note_waits(const std::vector<Wait>& waits, const std::string& prefix, Figure& figure) {
  std::vector<double> all;
  for (const auto& wait : waits) all.push_back(wait.ms);
  figure.note(prefix + "p50_ms", percentile(all, 0.5));
  figure.note(prefix + "p99_ms", percentile(all, 0.99));
}

void note_excess(const std::vector<Wait>& waits, Figure& figure) {
  std::vector<double> excess;
  for (const auto& wait : waits) excess.push_back(wait.excess_ms);
  figure.note("over_oldest_writer_p50_ms", percentile(excess, 0.5));
  figure.note("over_oldest_writer_p99_ms", percentile(excess, 0.99));
  figure.note("over_oldest_writer_max_ms", percentile(excess, 1));
}

}  // namespace seriatim::bench
