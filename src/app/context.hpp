#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config_file.hpp"
#include "app/secrets.hpp"
#include "embedded/embedded_database.hpp"
#include "postgres/admin/admin.hpp"

namespace seriatim::app {

/// What every verb shares, had when first asked for: the configuration and the database.
///
/// Threads: one; ask for the database before starting others.
/// Errors: ConfigError where the configuration is missing or wrong, or names no such process.
class Context {
 public:
  struct Options {
    std::string config_file;  ///< empty: $SERIATIM_CONFIG, else ./seriatim.toml
    bool json = false;
  };
  Context(Options options, Secrets& secrets);
  ~Context();

  [[nodiscard]] bool json() const { return options_.json; }
  [[nodiscard]] const Secrets& secrets() const { return secrets_; }

  /// Where handlers' notes go.
  void note_to(NoteWriter writer) { handlers_.note_to(std::move(writer)); }

  const AppConfig& config();
  /// Where there is no configuration file, DATABASE_URL will do. Starts the embedded server where
  /// it is asked for; it runs as long as this object lives.
  const std::string& database_url();
  /// This database instead of the configured one.
  void use_database(std::string url);

  const ConfiguredProcess& process(const std::string& name);
  /// All when `names` is empty; at least one.
  std::vector<const ConfiguredProcess*> processes(const std::vector<std::string>& names);

  /// `who` empty: user@host.
  [[nodiscard]] postgres::Actor actor(std::string who, std::string why) const;

 private:
  [[nodiscard]] std::string configured_url();

  Options options_;
  Secrets& secrets_;
  std::string file_;
  HandlerRegistry handlers_;
  std::optional<AppConfig> config_;
  std::unique_ptr<embedded::EmbeddedDatabase> embedded_;
  std::string database_url_;
};

}  // namespace seriatim::app
