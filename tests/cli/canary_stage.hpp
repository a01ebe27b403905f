#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/stage.hpp"

namespace seriatim::testing {

/// Every secret here has this word in it; a webhook's secret, and what basic authentication makes
/// of a password behind six bytes of user name, have it in base64.
inline constexpr const char* canary = "canary";
inline constexpr const char* canary_base64 = "Y2FuYXJ5";

inline bool sings(const std::string& text) {
  return contains(text, canary) || contains(text, canary_base64);
}

inline void check_silent(const std::string& text) {
  CAPTURE(text);
  CHECK_FALSE(sings(text));
}
inline void check_silent(const Ended& ended) {
  check_silent(ended.out);
  check_silent(ended.err);
}

/// A login that needs its password: the shared server trusts all others.
class PasswordRole {
 public:
  static constexpr const char* password = "canary/db?p#ss";
  static constexpr const char* password_in_url = "canary%2Fdb%3Fp%23ss";

  explicit PasswordRole(TestDatabase& database)
      : database_(database), name_("scram_" + database.name()) {
    database_.run("CREATE ROLE " + name_ + " LOGIN SUPERUSER PASSWORD '" + password + "'");
    const auto rules = testing::shared_server().log_file().parent_path() / "data" / "pg_hba.conf";
    std::ifstream in(rules);
    const std::string before{std::istreambuf_iterator<char>(in), {}};
    std::ofstream(rules) << "host all " << name_ << " 127.0.0.1/32 scram-sha-256\n" << before;
    database_.run("SELECT pg_reload_conf()");
  }
  ~PasswordRole() { database_.run("DROP OWNED BY " + name_ + "; DROP ROLE " + name_); }
  PasswordRole(const PasswordRole&) = delete;
  PasswordRole& operator=(const PasswordRole&) = delete;

  /// "postgresql://NAME:given@127.0.0.1:PORT/DATABASE"
  [[nodiscard]] std::string url(const std::string& given = password_in_url) const {
    return "postgresql://" + name_ + ':' + given + '@' + address() + '/' + database_.name();
  }
  [[nodiscard]] std::string url_without_password() const {
    return "postgresql://" + name_ + '@' + address() + '/' + database_.name();
  }
  /// The same as keywords and values.
  [[nodiscard]] std::string keywords(const std::string& given = password) const {
    return "host=127.0.0.1 port=" + std::to_string(shared_server().port()) + " user=" + name_ +
           " dbname=" + database_.name() + " password='" + given + "'";
  }

 private:
  static std::string address() { return "127.0.0.1:" + std::to_string(shared_server().port()); }

  TestDatabase& database_;
  std::string name_;
};

/// A secret in every place that can hold one, each in use: the server asks for the database's, the
/// receiver repeats all it knows.
class CanaryStage : public Stage {
 public:
  static constexpr const char* webhook_secret = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5";

  CanaryStage() {
    receiver.reply_with([](const lab::ReceivedRequest& request) { return echo(request); });
    append(2);
  }

  void configure(const std::string& database_url, const std::string& handler) const {
    std::ofstream(folder.path() / "seriatim.toml")
        << "[database]\nurl = \"" << database_url << "\"\n"
        << process(handler);
  }
  [[nodiscard]] std::string handler(const std::string& credentials) const {
    return "kind = \"http\"\nallow_private = true\nurl = \"" +
           receiver.url("/${HOOK_TOKEN}?api_key=${HOOK_PASSWORD}") +
           "\"\nsecret = \"${HOOK_SECRET}\"\n" + credentials +
           "\nheaders = { X-Api-Key = \"canary-header\", X-Tenant = \"canary-tenant\" }";
  }
  [[nodiscard]] Process::Options options() const {
    auto options = Stage::options();
    options.environment["HOOK_SECRET"] = webhook_secret;
    options.environment["HOOK_TOKEN"] = "canary-path";
    options.environment["HOOK_PASSWORD"] = "canary-query";
    options.environment["PGPASSWORD"] = "canary-pgpassword";
    return options;
  }
  [[nodiscard]] Ended seriatim(const std::vector<std::string>& arguments) const {
    return run(command(arguments), options());
  }
  void retry_at_once() {
    database.run("UPDATE seriatim.cursor SET state = 'running', next_attempt_at = NULL");
  }

  /// All the program left in the database, and what its sessions show of themselves.
  std::string database_text() {
    return database.value(
        "SELECT concat_ws(E'\\n', (SELECT string_agg(c::text, E'\\n') FROM seriatim.cursor AS c),"
        " (SELECT string_agg(j::text, E'\\n') FROM seriatim.journal AS j),"
        " (SELECT string_agg(concat_ws(' ', application_name, query), E'\\n')"
        "    FROM pg_stat_activity WHERE pid <> pg_backend_pid()))");
  }

  lab::HttpService receiver;
  PasswordRole role{database};

 private:
  /// A careless receiver: it repeats to everybody what it was sent and what it keeps.
  static lab::Reply echo(const lab::ReceivedRequest& request) {
    std::string body = "echo: " + request.target;
    for (const auto& [name, value] : request.headers) {
      if (name == "Authorization" || name.starts_with("X-"))
        body.append(" ").append(name).append(": ").append(value);
    }
    body += std::string(" signed with ") + webhook_secret + " or " +
            std::string(webhook_secret).substr(6);
    return lab::Reply::with_status(503, body);
  }
};

}  // namespace seriatim::testing
