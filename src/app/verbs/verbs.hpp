#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/context.hpp"
#include "app/output.hpp"

namespace seriatim::app {

// What the command line asks for: one struct a verb, carried out by its `perform` in a file of its
// own. A new verb: its struct here, its file, its options in command_line.cpp.

struct InitVerb {
  bool print = false;
};
struct CheckVerb {
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
struct PeekVerb {
  std::string process;
  unsigned lane = 0;
  unsigned rows = 10;
  bool payload = false;
};
/// Who acts on what and why: for the journal.
struct Act {
  std::string process;
  std::string who;  ///< empty: user@host
  std::string reason;
};
struct RetryVerb {
  Act act;
};
struct SkipVerb {
  Act act;
  std::string id;
};
struct PauseVerb {
  Act act;
};
struct ResumeVerb {
  Act act;
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
struct VersionVerb {};

using Verb = std::variant<InitVerb, CheckVerb, RunVerb, StatusVerb, PeekVerb, RetryVerb, SkipVerb,
                          PauseVerb, ResumeVerb, AppendVerb, DemoVerb, VersionVerb>;

Exit perform(const InitVerb& verb, Context& context);
Exit perform(const CheckVerb& verb, Context& context);
Exit perform(const RunVerb& verb, Context& context);
Exit perform(const StatusVerb& verb, Context& context);
Exit perform(const PeekVerb& verb, Context& context);
Exit perform(const RetryVerb& verb, Context& context);
Exit perform(const SkipVerb& verb, Context& context);
Exit perform(const PauseVerb& verb, Context& context);
Exit perform(const ResumeVerb& verb, Context& context);
Exit perform(const AppendVerb& verb, Context& context);
Exit perform(const DemoVerb& verb, Context& context);
Exit perform(const VersionVerb& verb, Context& context);

}  // namespace seriatim::app
