#include "app/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "app/config_tree.hpp"
#include "app/digest.hpp"
#include "app/process_section.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

std::string read_database(Options section, const Environment& environment, Secrets& secrets) {
  std::string url;
  if (section.has("url")) {
    url = section.required_text("url");
  } else {
    url = environment("DATABASE_URL").value_or("");
    if (url.empty()) {
      section.problem("url",
                      R"(is missing; give the database's URL, or "embedded", or set DATABASE_URL)");
    }
  }
  if (url != embedded_url) secrets.learn_from_database_url(url);
  section.finish();
  return url;
}

LogConfig read_log(Options section) {
  LogConfig log;
  log.level = static_cast<LogLevel>(section.choice("level", 1, {"debug", "info", "warn", "error"}));
  log.format = static_cast<LogFormat>(section.choice("format", 0, {"text", "json"}));
  section.finish();
  return log;
}

std::vector<ConfiguredProcess> read_processes(Options& root, const HandlerRegistry& handlers) {
  std::vector<ConfiguredProcess> processes;
  std::map<std::string, bool> seen;
  for (auto& section : root.tables("process")) {
    auto process = read_process(section, handlers);
    const auto& name = process.target.process.name;
    if (!name.empty() && !seen.emplace(name, true).second) {
      section.problem("name",
                      "\"" + name + "\" is taken by a process above; names keep cursors apart");
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

/// By line, as a person goes through the file; the order of discovery breaks ties.
std::string in_order_of_lines(const Problems& problems, const std::string& file) {
  auto lines = problems.lines();
  const auto number = [&](const std::string& line) {
    return std::strtol(line.c_str() + std::min(file.size() + 1, line.size()), nullptr, 10);
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const auto& a, const auto& b) { return number(a) < number(b); });
  std::string text;
  for (const auto& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

std::vector<std::string> AppConfig::names() const {
  std::vector<std::string> names;
  names.reserve(processes.size());
  for (const auto& process : processes) names.push_back(process.target.process.name);
  return names;
}

AppConfig read_config(std::string_view text, const std::string& file,
                      const ConfigSurroundings& surroundings) {
  Problems problems;
  AppConfig config;
  config.file = file;
  config.hash = short_hash(text);
  const auto tree = read_toml(text, file, surroundings.environment, surroundings.secrets, problems);
  if (!problems.empty() && tree->values.empty()) throw ConfigError(problems.text());  // no TOML
  Options root(tree, problems);
  config.database_url =
      read_database(root.table("database"), surroundings.environment, surroundings.secrets);
  config.log = read_log(root.table("log"));
  if (root.has("console")) {
    config.console = read_console(root.table("console"), surroundings.secrets);
  }
  if (root.has("alerts")) config.alerts = read_alerts(root.table("alerts"), surroundings.secrets);
  if (root.has("traces")) config.traces = read_traces(root.table("traces"), surroundings.secrets);
  config.processes = read_processes(root, surroundings.handlers);
  root.finish();
  if (!problems.empty()) throw ConfigError(in_order_of_lines(problems, file));
  return config;
}

AppConfig load_config(const std::string& file, const ConfigSurroundings& surroundings) {
  const bool folder = std::filesystem::is_directory(file);
  std::ifstream stream(file, std::ios::binary);
  if (folder || !stream) {
    throw ConfigError(file + ": cannot be read (" + std::strerror(folder ? EISDIR : errno) +
                      "); name the configuration with --config FILE or SERIATIM_CONFIG");
  }
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return read_config(text, file, surroundings);
}

}  // namespace seriatim::app
