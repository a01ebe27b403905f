#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/alerts/alerts_section.hpp"
#include "app/console_section.hpp"
#include "app/environment.hpp"
#include "app/secrets.hpp"
#include "app/traces/traces_section.hpp"
#include "postgres/admin/admin.hpp"
#include "seriatim/registry.hpp"

namespace seriatim::app {

/// One `[[process]]` as read: where its rows come from and what takes them.
/// Keys in use under a former name, with the name of today.
using FormerKeys = std::vector<std::pair<std::string, std::string>>;

struct ConfiguredProcess {
  postgres::Target target;
  std::string handler_kind;
  HandlerFactory handler;
  FormerKeys former_keys;
};

enum class LogLevel { debug, info, warn, error };
enum class LogFormat { text, json };

struct LogConfig {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
};

/// The database URL that asks for a private server.
inline constexpr std::string_view embedded_url = "embedded";

/// A whole configuration file. docs/configuration.md names every key.
struct AppConfig {
  std::string file;          ///< as it was named
  std::string database_url;  ///< or "embedded"
  std::string hash;          ///< of the file's text, short: distinguishes configurations
  LogConfig log;
  std::optional<ConsoleConfig> console;
  std::optional<AlertsConfig> alerts;
  std::optional<TracesConfig> traces;
  std::vector<ConfiguredProcess> processes;

  [[nodiscard]] std::vector<std::string> names() const;  ///< of all processes
};

/// What reading a file needs to know from outside.
struct ConfigSurroundings {
  const HandlerRegistry& handlers;
  Environment environment;
  Secrets& secrets;  ///< learns what the file holds
};

/// Throws ConfigError with every problem of the file, each `file:line: key: what; what to do`.
[[nodiscard]] AppConfig read_config(std::string_view text, const std::string& file,
                                    const ConfigSurroundings& surroundings);

/// Reads the file too. Throws ConfigError where it cannot be read.
[[nodiscard]] AppConfig load_config(const std::string& file,
                                    const ConfigSurroundings& surroundings);

}  // namespace seriatim::app
