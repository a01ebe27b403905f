#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include <sys/resource.h>

#include "app/metrics/metrics.hpp"

namespace seriatim::app {

namespace {

using Labels = Families::Labels;
using ByProcess = std::map<std::string, std::vector<const LaneCounts*>>;

/// Calls `one` with the labels and the sum over the lanes they are for.
template <class Value, class One>
void sum_up(const ByProcess& processes, bool by_lane, Value value, One one) {
  for (const auto& [process, lanes] : processes) {
    if (by_lane && lanes.size() <= lane_series_max) {
      for (const auto* lane : lanes) {
        one(Labels{{"process", process}, {"lane", std::to_string(lane->lane)}},
            static_cast<double>(value(*lane)));
      }
      continue;
    }
    double sum = 0;
    for (const auto* lane : lanes) sum += static_cast<double>(value(*lane));
    one(Labels{{"process", process}}, sum);
  }
}

Labels with(Labels labels, const char* name, std::string_view value) {
  labels.emplace_back(name, value);
  return labels;
}

void add_histogram(const ByProcess& processes, Histogram LaneCounts::*which, const char* name,
                   const char* help, Families& families) {
  families.histogram_family(name, help);
  for (const auto& [process, lanes] : processes) {
    Histogram sum = lanes.front()->*which;
    for (std::size_t i = 1; i < lanes.size(); ++i) {
      const auto& more = lanes[i]->*which;
      sum.sum += more.sum;
      for (std::size_t b = 0; b < sum.counts.size(); ++b) sum.counts[b] += more.counts[b];
    }
    families.histogram({{"process", process}}, sum);
  }
}

void add_counters(const ByProcess& processes, Families& families) {
  const auto counter = [&](const Labels& labels, double value) { families.counter(labels, value); };
  families.counter_family("delivered_total", "rows delivered, their cursor committed");
  sum_up(
      processes, true, [](const LaneCounts& lane) { return lane.delivered; }, counter);

  families.counter_family("delivery_failures_total",
                          "calls that ended so: retry, unknown or poison");
  constexpr std::array classes{"retry", "unknown", "poison"};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    sum_up(
        processes, true, [&](const LaneCounts& lane) { return lane.failures[i]; },
        [&](const Labels& labels, double value) {
          families.counter(with(labels, "class", classes[i]), value);
        });
  }

  families.counter_family("set_aside_total",
                          "rows set aside: parked after a failure, or queued behind a parked row");
  const auto aside = [&](const char* how) {
    return [&, how](const Labels& labels, double value) {
      families.counter(with(labels, "how", how), value);
    };
  };
  sum_up(
      processes, false, [](const LaneCounts& lane) { return lane.parked; }, aside("park"));
  sum_up(
      processes, false, [](const LaneCounts& lane) { return lane.queued; }, aside("queue"));

  families.counter_family("stage_seconds_total",
                          "what the lanes of this relay spent their time on");
  for (std::size_t i = 0; i < lane_step_names.size(); ++i) {
    sum_up(
        processes, false, [&](const LaneCounts& lane) { return lane.stage_seconds[i]; },
        [&](const Labels& labels, double value) {
          families.counter(with(labels, "stage", lane_step_names[i]), value);
        });
  }

  families.counter_family("sessions_lost_total", "database sessions that lanes lost or dropped");
  sum_up(
      processes, false, [](const LaneCounts& lane) { return lane.sessions_lost; }, counter);
  families.counter_family("takeovers_total", "lanes that this relay took over");
  sum_up(
      processes, false, [](const LaneCounts& lane) { return lane.takeovers; }, counter);
}

}  // namespace

void add_relay_metrics(const std::vector<LaneCounts>& lanes, Families& families) {
  ByProcess processes;
  for (const auto& lane : lanes) processes[lane.process].push_back(&lane);
  add_counters(processes, families);
  families.gauge_family("lanes_held", "lanes that this relay holds");
  sum_up(
      processes, false, [](const LaneCounts& lane) { return lane.held ? 1 : 0; },
      [&](const Labels& labels, double value) { families.gauge(labels, value); });
  add_histogram(processes, &LaneCounts::calls, "delivery_seconds", "how long one call took",
                families);
  add_histogram(processes, &LaneCounts::end_to_end, "end_to_end_seconds",
                "created_at of a row to the commit of its delivery, by the database's clock",
                families);
  add_histogram(processes, &LaneCounts::commits, "cursor_commit_seconds",
                "how long one commit of the cursor took", families);
}

void add_alert_metrics(const AlertSender& sender, Families& families) {
  families.counter_family("alerts_sent_total", "messages on alerts, by what became of them");
  families.counter({{"result", "accepted"}}, static_cast<double>(sender.accepted()));
  families.counter({{"result", "failed"}}, static_cast<double>(sender.failed()));
}

void add_program_metrics(Families& families) {
  std::ifstream stat_file("/proc/self/stat");
  std::string stat{std::istreambuf_iterator<char>(stat_file), std::istreambuf_iterator<char>()};
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream rest(stat.substr(name_end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  if (fields.size() < 22) return;
  // proc(5) counts from 1 with pid and name; fields[0] is number 3.
  const auto field = [&](std::size_t number) { return std::stod(fields[number - 3]); };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  families.counter_family("process_cpu_seconds_total", "CPU time of this program")
      .counter({}, (field(14) + field(15)) / ticks);
  families.gauge_family("process_virtual_memory_bytes", "address space in use")
      .gauge({}, field(23));
  families.gauge_family("process_resident_memory_bytes", "memory in use")
      .gauge({}, field(24) * page);
  std::ifstream uptime_file("/proc/stat");
  for (std::string line; std::getline(uptime_file, line);) {
    if (!line.starts_with("btime ")) continue;
    families.gauge_family("process_start_time_seconds", "when this program began, Unix time")
        .gauge({}, std::stod(line.substr(6)) + field(22) / ticks);
  }
  std::error_code ignored;
  const std::filesystem::directory_iterator open_files("/proc/self/fd", ignored);
  families.gauge_family("process_open_fds", "open file descriptors")
      .gauge({}, static_cast<double>(std::distance(begin(open_files), end(open_files))));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.gauge_family("process_max_fds", "file descriptors it may open")
        .gauge({}, static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace seriatim::app
