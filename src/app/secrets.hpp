#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace seriatim::app {

/// What must never be shown. Everything the program writes passes through `redact`: it takes out
/// the values learned from configuration and environment, and the password of anything that has
/// the form of a URL.
///
/// Threads: `learn` while starting, from one thread; `redact` from any thread afterwards.
class Secrets {
 public:
  /// Shorter values would take ordinary words out of messages.
  static constexpr std::size_t bytes_min = 4;

  void learn(std::string_view value);
  /// The password inside a URL or libpq connection string, if there is one.
  void learn_from_url(std::string_view url);

  /// The database's URL, whose mistakes libpq quotes in full.
  void learn_from_database_url(std::string_view url);

  [[nodiscard]] std::string redact(std::string_view text) const;

 private:
  std::vector<std::string> values_;  ///< longest first, so that none hides inside another
};

/// By its name, does a key or variable hold a secret? "auth_token", "SMS_PASSWORD", "signing-key"
[[nodiscard]] bool names_a_secret(std::string_view name);

}  // namespace seriatim::app
