#include "app/context.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "app/text.hpp"
#include "runtime/nearest.hpp"
#include "seriatim/error.hpp"
#include "seriatim/handlers.hpp"

namespace seriatim::app {

namespace fs = std::filesystem;

namespace {

constexpr const char* default_file = "seriatim.toml";

std::string user_at_host() {
  const passwd* entry = ::getpwuid(::geteuid());
  std::array<char, 256> host{"?"};
  ::gethostname(host.data(), host.size() - 1);
  const std::string user = entry != nullptr ? entry->pw_name : "uid " + std::to_string(::geteuid());
  return user + '@' + host.data();
}

}  // namespace

Context::Context(Options options, Secrets& secrets)
    : options_(std::move(options)), secrets_(secrets) {
  handlers::register_all(handlers_);
  const auto environment = process_environment();
  const bool named = !options_.config_file.empty();
  file_ = named ? options_.config_file : environment("SERIATIM_CONFIG").value_or(default_file);
  secrets_.learn(environment("PGPASSWORD").value_or(""));
  secrets_.learn_from_database_url(environment("DATABASE_URL").value_or(""));
}

Context::~Context() = default;

const AppConfig& Context::config() {
  if (!config_) config_ = load_config(file_, {handlers_, process_environment(), secrets_});
  return *config_;
}

std::string Context::configured_url() {
  const auto environment = process_environment();
  const bool asked_for = !options_.config_file.empty() || environment("SERIATIM_CONFIG");
  if (asked_for || fs::exists(file_)) return config().database_url;
  auto url = environment("DATABASE_URL").value_or("");
  if (url.empty()) {
    throw ConfigError(
        file_ + ": not found, and DATABASE_URL is not set; " +
        "name the configuration with --config FILE or the database with DATABASE_URL");
  }
  return url;
}

const std::string& Context::database_url() {
  if (!database_url_.empty()) return database_url_;
  const auto url = configured_url();
  if (url == embedded_url) {
    embedded_ =
        std::make_unique<embedded::EmbeddedDatabase>(fs::path(file_).parent_path() / ".seriatim");
    database_url_ = embedded_->url();
  } else {
    database_url_ = url;
  }
  return database_url_;
}

void Context::use_database(std::string url) {
  secrets_.learn_from_database_url(url);
  database_url_ = std::move(url);
}

const ConfiguredProcess& Context::process(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& process : config().processes) {
    if (process.target.process.name == name) return process;
    names.push_back(process.target.process.name);
  }
  const auto meant = runtime::nearest(name, names);
  std::string known;
  for (const auto& one : names) known += (known.empty() ? "" : ", ") + one;
  throw ConfigError("no process \"" + printable(name, 63) + "\" in " + config().file + "; " +
                    (meant ? "did you mean \"" + *meant + "\"?" : "there are: " + known));
}

std::vector<const ConfiguredProcess*> Context::processes(const std::vector<std::string>& names) {
  std::vector<const ConfiguredProcess*> result;
  for (const auto& name : names) result.push_back(&process(name));
  if (!names.empty()) return result;
  for (const auto& process : config().processes) result.push_back(&process);
  if (result.empty()) {
    throw ConfigError(config().file + ": names no process; add a [[process]] section");
  }
  return result;
}

postgres::Actor Context::actor(std::string who, std::string why) const {
  return {who.empty() ? user_at_host() : std::move(who), std::move(why)};
}

}  // namespace seriatim::app
