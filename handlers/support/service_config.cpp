#include "support/service_config.hpp"

#include <utility>

#include "support/cannot_render.hpp"
#include "support/option_checks.hpp"

namespace seriatim::handlers {

namespace {

ServiceUrl read_url(Options& options, const ServiceScheme& scheme) {
  const auto text = options.required_text("url");
  try {
    if (!text.empty()) return parse_service_url(text, scheme);
  } catch (const CannotRender& e) {
    options.problem("url", e.what());
  }
  return {};
}

}  // namespace

HttpClientConfig ServiceConfig::network() const {
  HttpClientConfig network;
  network.allow_private = true;
  network.ca_file = ca_file;
  network.connect_timeout = connect_timeout;
  return network;
}

std::string read_service(Options& options, const ServiceScheme& scheme, ServiceConfig& config) {
  auto url = read_url(options, scheme);
  config.place = std::move(url.place);
  if (!url.user.empty()) config.username = url.user;
  if (!url.user.empty() || !url.password.empty()) config.password = url.password;
  const auto read = [&](const char* key, const std::string& in_url, std::string& value) {
    if (options.has(key) && !in_url.empty()) options.problem(key, "is in the url already");
    value = options.text(key, value);
  };
  read("username", url.user, config.username);
  read("password", url.password, config.password);
  config.form = read_message_form(options);
  config.connect_timeout = options.duration("connect_timeout", config.connect_timeout);
  config.ca_file = options.text("ca_file");
  check_readable(options, "ca_file", config.ca_file);
  return std::move(url.path);
}

}  // namespace seriatim::handlers
