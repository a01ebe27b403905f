#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/log.hpp"
#include "postgres/admin/records/records.hpp"
#include "seriatim/counts.hpp"

namespace seriatim::app {

/// What lanes did between two counts, by process; lanes that did nothing are left out. The longest
/// call and the highest age are the bound of the histogram's bucket that they fell into.
using Minutes = std::map<std::string, std::vector<postgres::LaneMinute>>;
[[nodiscard]] Minutes minutes_between(const std::vector<LaneCounts>& before,
                                      const std::vector<LaneCounts>& now);

/// Keeps in the database that this relay runs, and what its lanes did, once a minute: one statement
/// a process, and none for a minute without traffic. A connection of its own, for that moment only:
/// a relay has to do with few of them. What goes wrong is logged, once until it works again: no row
/// waits for it.
class Recorder {
 public:
  struct Parts {
    std::string url;  ///< of the database
    postgres::Records::Relay relay;
    std::function<std::vector<LaneCounts>()> counts;
    const Secrets& secrets;
    Log& log;
  };
  explicit Recorder(Parts parts);

 private:
  void run(const std::stop_token& stop);
  void note_minute();
  void attempt(const std::function<void()>& act);

  Parts parts_;
  postgres::Records records_;
  std::vector<LaneCounts> noted_;
  std::int64_t minute_;  ///< since 1970, of what comes after `noted_`
  std::string complaint_;
  std::jthread thread_;
};

}  // namespace seriatim::app
