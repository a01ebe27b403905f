#include "postgres/admin/prune/prune.hpp"

#include <unistd.h>

#include <algorithm>

#include "app/reports.hpp"
#include "app/signals.hpp"
#include "app/text.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

namespace {

constexpr std::chrono::seconds batch_max{30};  ///< after a signal; then the batch is rolled back

/// Once a second on a terminal, once a minute in a log.
class Progress {
 public:
  explicit Progress(bool dry_run) : dry_run_(dry_run) {}
  void operator()(std::uint64_t rows) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + interval_;
    const auto text = std::to_string(rows) + (dry_run_ ? " rows counted" : " rows deleted");
    complain(terminal_ ? '\r' + text : text + '\n');
    shown_ = terminal_;
  }
  ~Progress() {
    if (shown_) complain("\r\x1b[K");
  }

 private:
  bool dry_run_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::seconds interval_{terminal_ ? 1 : 60};
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + interval_;
};

postgres::PruneChoice choice_of(const PruneVerb& verb) {
  postgres::PruneChoice choice;
  if (!verb.act.process.empty()) choice.process = verb.act.process;
  choice.table = verb.table;
  choice.older_than = verb.older_than.value_or(choice.older_than);
  choice.batch_rows = verb.batch;
  choice.filtered = verb.filtered;
  choice.detach = verb.detach;
  choice.dry_run = verb.dry_run;
  return choice;
}

}  // namespace

Exit perform(const PruneVerb& verb, Context& context) {
  if (!verb.act.process.empty()) context.process(verb.act.process);  // known at all
  std::vector<postgres::Target> targets;
  for (const auto* process : context.processes({})) targets.push_back(process->target);
  const auto& url = context.database_url();
  const Signals signals(batch_max);
  std::vector<postgres::PruneReport> tables;
  {
    Progress progress(verb.dry_run);
    const auto pause = [&](std::uint64_t rows, std::chrono::microseconds time) {
      progress(rows);
      return sleep_unless_stopped(std::chrono::ceil<std::chrono::milliseconds>(time),
                                  signals.token());
    };
    tables = postgres::prune(url, targets, choice_of(verb),
                             context.actor(verb.act.who, verb.act.reason), pause);
  }
  print(context.json() ? prune_json(tables, verb.dry_run) : prune_text(tables, verb.dry_run));
  const bool sound =
      std::all_of(tables.begin(), tables.end(), [](const auto& table) { return table.sound(); });
  return sound ? Exit::done : Exit::failure;
}

}  // namespace seriatim::app
