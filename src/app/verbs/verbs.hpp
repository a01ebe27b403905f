#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/context.hpp"
#include "app/output.hpp"

namespace seriatim::app {

// What the command line asks for: one struct a verb, carried out by its `perform` in acts, prune,
// reports, run or setup.cpp. A new verb: its struct, entry of Verb and `perform` here, its options
// in command_line.cpp.

struct InitVerb {
  bool print = false;
  std::optional<std::string> partitioned;  ///< "hourly", "daily", "monthly"
};
struct CheckVerb {
  std::vector<std::string> processes;
};
struct PlanVerb {
  std::vector<std::string> processes;
};
struct RunVerb {
  std::vector<std::string> processes;
  bool drain = false;
  std::optional<LogLevel> log_level;
  std::optional<LogFormat> log_format;
  std::optional<std::chrono::milliseconds> grace;
};
struct StatusVerb {
  std::vector<std::string> processes;
  bool watch = false;
};
/// Asks the relay of this configuration, over HTTP.
struct HealthVerb {
  bool ready = false;
};
struct TopVerb {
  std::vector<std::string> processes;
  bool act = false;  ///< keys that act are on
  std::string who;   ///< … under this name; empty: user@host
};
struct PeekVerb {
  std::string process;
  unsigned lane = 0;
  unsigned rows = 10;
  bool payload = false;
};
struct PreviewVerb {
  std::string process;
  unsigned lane = 0;
  unsigned rows = 10;
};
struct WhyVerb {
  std::string process;
  std::string id;
};
struct AuditVerb {
  std::string process;
  bool buckets = false;  ///< each bucket, not by the hour
};
/// Who acts on what and why: for the journal.
struct Act {
  std::string process;
  std::string who;  ///< empty: user@host
  std::string reason;
  std::vector<std::string> expect;  ///< "row=4711": what the lane must be like still
};
struct RetryVerb {
  Act act;
  std::optional<unsigned> lane{};  ///< absent: all
};
struct SkipVerb {
  Act act;
  std::string id;
};
struct LanesVerb {
  Act act;
  unsigned lanes = 1;
};
struct RewindVerb {
  Act act;
  std::string to;
  bool yes = false;
};
struct ParkedVerb {
  enum class What { list, redrive, discard };
  What what = What::list;
  Act act;
  std::optional<std::string> id;
  std::optional<std::string> key;
  bool all = false;
  bool dry_run = false;  ///< redrive, discard: only count
  unsigned rows = 100;   ///< list: at most so many
};
struct PruneVerb {
  Act act;                           ///< process empty: see `table`
  std::optional<std::string> table;  ///< neither: every table the configuration reads
  std::optional<std::chrono::milliseconds> older_than;
  unsigned batch = 1'000;
  bool filtered = false;
  bool detach = false;
  bool dry_run = false;
};
struct PauseVerb {
  Act act;
  std::optional<unsigned> lane{};  ///< absent: all
};
struct ResumeVerb {
  Act act;
  std::optional<unsigned> lane{};  ///< absent: all
};
struct AdoptVerb {
  Act act;
  std::optional<std::string> from;      ///< the process's former name
  bool source_changed = false;          ///< the filter was changed, and …
  std::optional<std::string> old_rows;  ///< … "skip" or "deliver"
};
struct AppendVerb {
  std::string aggregate_type;
  std::string aggregate_id;
  std::string type;
  std::optional<std::string> payload;  ///< absent: read from stdin
  std::string headers = "{}";
};
struct DemoVerb {
  unsigned seconds = 30;
  bool keep = false;
};
/// `torture` and `bench` are verbs of the program seriatim-lab, which gets them as they are.
struct LabVerb {
  std::vector<std::string> arguments;
};
struct VersionVerb {};

using Verb = std::variant<InitVerb, CheckVerb, PlanVerb, RunVerb, StatusVerb, HealthVerb, TopVerb,
                          PeekVerb, PreviewVerb, WhyVerb, AuditVerb, RetryVerb, SkipVerb,
                          RewindVerb, LanesVerb, ParkedVerb, PruneVerb, PauseVerb, ResumeVerb,
                          AdoptVerb, AppendVerb, DemoVerb, LabVerb, VersionVerb>;

/// A read of the lanes that takes longer is ended by the second signal.
inline constexpr std::chrono::seconds status_read_max{30};

Exit perform(const InitVerb& verb, Context& context);
Exit perform(const CheckVerb& verb, Context& context);
Exit perform(const PlanVerb& verb, Context& context);
Exit perform(const RunVerb& verb, Context& context);
Exit perform(const StatusVerb& verb, Context& context);
Exit perform(const HealthVerb& verb, Context& context);
Exit perform(const TopVerb& verb, Context& context);
Exit perform(const PeekVerb& verb, Context& context);
Exit perform(const PreviewVerb& verb, Context& context);
Exit perform(const WhyVerb& verb, Context& context);
Exit perform(const AuditVerb& verb, Context& context);
Exit perform(const RetryVerb& verb, Context& context);
Exit perform(const SkipVerb& verb, Context& context);
Exit perform(const LanesVerb& verb, Context& context);
Exit perform(const RewindVerb& verb, Context& context);
Exit perform(const ParkedVerb& verb, Context& context);
Exit perform(const PruneVerb& verb, Context& context);
Exit perform(const PauseVerb& verb, Context& context);
Exit perform(const ResumeVerb& verb, Context& context);
Exit perform(const AdoptVerb& verb, Context& context);
Exit perform(const AppendVerb& verb, Context& context);
Exit perform(const DemoVerb& verb, Context& context);
Exit perform(const LabVerb& verb, Context& context);
Exit perform(const VersionVerb& verb, Context& context);

}  // namespace seriatim::app
