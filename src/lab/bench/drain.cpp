#include "lab/bench/clock.hpp"
#include "lab/bench/measures.hpp"
#include "lab/bench/processes.hpp"
#include "seriatim/error.hpp"

namespace seriatim::bench {

void drain(Stage& stage, RelaySpec spec, std::uint64_t rows, Figure& figure) {
  spec.rows = rows;
  const auto relay = stage.start(spec);
  const auto delivered = relay->await_delivered();
  if (delivered.counted == 0) {
    throw Error("one commit took all rows, which gives no rate: give --rows more than --batch");
  }
  const auto backend = stage.backend_cpu();
  const auto own = cpu_seconds(relay->pid());
  const auto share = 100'000 / static_cast<double>(delivered.rows);
  figure.rates.push_back(per_second(delivered.counted, delivered.took_ns));
  figure.note("cpu_s_per_100k_rows", (own + backend) * share);
  figure.note("relay_cpu_s_per_100k_rows", own * share);
  figure.note("backend_cpu_s_per_100k_rows", backend * share);
  figure.note("relay_rss_mb", resident_mb(relay->pid()));
  (void)relay->finish();
}

}  // namespace seriatim::bench
