#include "support/http_target.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "support/address_policy.hpp"
#include "support/cannot_render.hpp"
#include "support/header_text.hpp"
#include "support/option_checks.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

namespace {

// These say how the message is framed, or are written by the handler itself.
constexpr std::array<std::string_view, 8> own_headers = {
    "Host",       "Content-Length", "Transfer-Encoding",
    "Connection", "Content-Type",   "Idempotency-Key",
    "Expect",     "User-Agent"};

bool is_own_header(const std::string& name) {
  const auto prefix = [&](std::string_view p) { return same_header(name.substr(0, p.size()), p); };
  return prefix("Seriatim-") || prefix("webhook-") || prefix("ce-") ||
         std::any_of(own_headers.begin(), own_headers.end(),
                     [&](std::string_view own) { return same_header(own, name); });
}

std::string without_tags(std::string text) {
  for (auto open = text.find("{{"); open != std::string::npos; open = text.find("{{")) {
    const auto close = text.find("}}", open);
    if (close == std::string::npos) break;
    text.replace(open, close + 2 - open, "x");
  }
  return text;
}

void check_url(const HttpTarget& target) {
  const auto authority_end = target.url.find_first_of("/?#", target.url.find("://") + 3);
  if (target.url.substr(0, authority_end).find("{{") != std::string::npos) {
    throw CannotRender("the host may not come from the record; tags belong in path and query");
  }
  (void)Template(target.url, Escaping::url);
  const auto url = parse_url(without_tags(target.url));
  if (target.client.allow_private) return;
  if (const auto why = refusal_of_url(url); !why.empty()) {
    throw CannotRender(why + "; set allow_private = true if that is meant");
  }
}

void check_headers(Options& options, const HttpTarget& target) {
  for (const auto& [name, value] : target.headers) {
    try {
      check_header(name, value);
      if (is_own_header(name)) throw CannotRender(name + " is set by the handler itself");
    } catch (const CannotRender& e) {
      options.problem("headers", e.what());
    }
  }
  for (const auto& name : target.pass_headers) {
    if (is_own_header(name))
      options.problem("pass_headers", name + " is set by the handler itself");
  }
}

void read_credentials(Options& options, HttpTarget& target) {
  target.username = options.text("username");
  target.password = options.text("password");
  target.token = options.text("token");
  for (const auto* key : {"username", "token"}) {
    if (options.has(key) && options.text(key).empty()) options.problem(key, "is empty");
  }
  if (!target.password.empty() && target.username.empty()) {
    options.problem("password", "needs a username");
  }
  if (!target.token.empty() && !target.username.empty()) {
    options.problem("token", "set either token or username and password");
  }
  if (target.username.find(':') != std::string::npos) {
    options.problem("username", "holds a colon, which basic authentication cannot carry");
  }
}

}  // namespace

HttpTarget read_http_target(Options& options) {
  HttpTarget target;
  target.url = options.required_text("url");
  for (auto& header : options.text_table("headers")) target.headers.push_back(header);
  target.pass_headers = {"traceparent", "tracestate"};
  for (auto& name : options.texts("pass_headers")) target.pass_headers.push_back(name);
  read_credentials(options, target);
  target.timeout = options.duration("timeout", target.timeout);
  auto& client = target.client;
  client.connect_timeout = options.duration("connect_timeout", client.connect_timeout);
  client.ca_file = options.text("ca_file");
  client.allow_private = options.flag("allow_private", client.allow_private);
  client.keep_alive = options.flag("keep_alive", client.keep_alive);
  check_headers(options, target);
  check_readable(options, "ca_file", client.ca_file);
  try {
    if (!target.url.empty()) check_url(target);
  } catch (const CannotRender& e) {
    options.problem("url", e.what());
  }
  return target;
}

}  // namespace seriatim::handlers
