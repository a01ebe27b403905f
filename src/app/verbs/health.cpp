#include "app/verbs/verbs.hpp"
#include "console/probe_client.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

constexpr std::chrono::seconds answer_max{3};

}  // namespace

Exit perform(const HealthVerb& verb, Context& context) {
  const auto& config = context.config();
  if (!config.console) {
    throw ConfigError(config.file +
                      ": there is no [console], so the relay answers no probes; add\n[console]\n"
                      "listen = \"127.0.0.1:8642\"");
  }
  const auto& [address, port, unix_path] = config.console->listen;
  const console::ProbePlace place{address, port, unix_path, config.console->tls.has_value()};
  console::ProbeAnswer answer;
  try {
    answer = console::ask(place, verb.ready ? "/readyz" : "/livez", answer_max);
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + "; start `seriatim run` with " + config.file +
                ", or see its log");
  }
  const bool good = answer.status == 200;
  print(good ? answer.body : "not well: " + answer.body);
  return good ? Exit::done : Exit::failure;
}

}  // namespace seriatim::app
