#pragma once

#include <optional>
#include <string>

#include "app/config_file.hpp"
#include "seriatim/error.hpp"

// Configuration files as texts, read with one handler and a few variables.
namespace seriatim::app {

using std::chrono::milliseconds;

inline HandlerRegistry handlers_for_test() {
  HandlerRegistry registry;
  registry.add({"sms", "", [](Options& options) {
                  options.required_text("to");
                  options.text("auth_token");
                  options.duration("timeout", milliseconds{1'000});
                  return handler_from([](const Record&) { return Outcome::done(); });
                }});
  registry.leave_out("nats", "libnats-dev");
  return registry;
}

inline std::optional<std::string> variables(const std::string& name) {
  if (name == "DATABASE_URL") return "postgresql://relay:canary-url@db/shop";
  if (name == "SMS_TOKEN") return "canary-token";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

inline AppConfig read(const std::string& text) {
  static const HandlerRegistry registry = handlers_for_test();
  Secrets secrets;
  return read_config(text, "s.toml", {registry, variables, secrets});
}

inline std::string problems_of(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

/// One process on line 1 with what a test adds to it, to its source and to its handler.
inline std::string process_with(const std::string& process, const std::string& source = "",
                                const std::string& handler = "") {
  return "[[process]]\nname = \"a\"\n" + process + "\n[process.source]\n" + source +
         "\n[process.handler]\nkind = \"sms\"\nto = \"x\"\n" + handler + "\n";
}

}  // namespace seriatim::app
