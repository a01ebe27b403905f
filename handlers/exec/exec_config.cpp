#include "exec/exec_config.hpp"

#include <array>
#include <cstdlib>
#include <utility>

namespace seriatim::handlers {

namespace {

constexpr std::array inherited{"PATH",     "HOME",       "USER",    "LOGNAME",    "SHELL",
                               "TMPDIR",   "TZ",         "LANG",    "LANGUAGE",   "LC_ALL",
                               "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MESSAGES"};
constexpr std::int64_t group_rows_max = 10'000;
constexpr std::chrono::minutes stop_grace_max{1};

bool has_zero(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

void read_command(Options& options, ExecHandlerConfig& config) {
  config.command = options.texts("command");
  if (!options.has("command")) {
    options.problem("command",
                    "is missing: program and arguments, such as [\"python3\", \"handler.py\"]");
  } else if (config.command.empty() || config.command.front().empty()) {
    options.problem("command", "names no program");
  }
  for (const auto& word : config.command) {
    if (has_zero(word)) options.problem("command", "holds a zero byte");
  }
}

void read_environment(Options& options, ExecHandlerConfig& config) {
  config.environment = options.text_table("environment");
  for (const auto& [name, value] : config.environment) {
    const bool sound = !name.empty() && name.find('=') == std::string::npos && !has_zero(name);
    if (!sound) options.problem("environment", "\"" + name + "\" cannot be a variable's name");
    if (has_zero(value)) options.problem("environment", name + " holds a zero byte");
  }
}

}  // namespace

ExecHandlerConfig read_exec_config(Options& options) {
  ExecHandlerConfig config;
  read_command(options, config);
  config.working_directory = options.text("working_directory");
  if (has_zero(config.working_directory)) {
    options.problem("working_directory", "holds a zero byte");
  }
  read_environment(options, config);
  config.batches = options.choice("mode", 0, {"single", "batch"}) == 1;
  config.group_rows =
      static_cast<unsigned>(options.integer("group_rows", config.group_rows, 1, group_rows_max));
  if (!config.batches && options.has("group_rows")) {
    options.problem("group_rows", "counts in mode = \"batch\" only");
  }
  constexpr std::array forms{PayloadForm::json, PayloadForm::text, PayloadForm::base64,
                             PayloadForm::none};
  config.payload = forms.at(options.choice("payload", 0, {"json", "text", "base64", "none"}));
  config.stop_grace = options.duration("stop_grace", config.stop_grace);
  if (config.stop_grace > stop_grace_max) {
    options.problem("stop_grace", "must not exceed a minute");
  }
  return config;
}

std::vector<std::string> child_environment(const ExecHandlerConfig& config) {
  auto variables = config.environment;
  for (const char* name : inherited) {
    const char* value = std::getenv(name);
    if (value != nullptr) variables.emplace(name, value);
  }
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(name + '=' + value);
  return result;
}

}  // namespace seriatim::handlers
