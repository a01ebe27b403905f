#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

namespace {

/// One line on a terminal, at most once a second, taken away at the end.
class Progress {
 public:
  void operator()(std::uint64_t rows) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now < next_) return;
    next_ = now + std::chrono::seconds(1);
    shown_ = true;
    complain("\r" + std::to_string(rows) + " rows recounted");
  }
  ~Progress() {
    if (shown_) complain("\r\x1b[K");
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

}  // namespace

Exit perform(const AuditVerb& verb, Context& context) {
  const auto& target = context.process(verb.process).target;
  postgres::Admin admin(context.database_url());
  std::vector<postgres::LaneAudit> lanes;
  {
    Progress progress;
    lanes = admin.audit(target, verb.buckets, std::ref(progress));
  }
  print(context.json() ? audit_json(verb.process, lanes) : audit_text(lanes, stdout_is_terminal()));
  const bool sound =
      std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane.sound(); });
  return sound ? Exit::done : Exit::failure;
}

}  // namespace seriatim::app
