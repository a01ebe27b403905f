#include "app/partition_keeper.hpp"

#include "app/signals.hpp"
#include "postgres/admin/prune/prune.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

constexpr std::chrono::hours interval{1};

void keep(const std::string& url, Log& log) {
  try {
    for (const auto& name : postgres::create_partitions(url)) log.info("created partition " + name);
  } catch (const Error& failed) {
    log.warn(std::string("no partitions were created: ") + failed.what());
  }
}

}  // namespace

PartitionKeeper::PartitionKeeper(std::string url, Log& log)
    : thread_([url = std::move(url), &log](const std::stop_token& stop) {
        do keep(url, log);
        while (sleep_unless_stopped(interval, stop));
      }) {}

}  // namespace seriatim::app
