#include "app/post_target.hpp"

#include <algorithm>
#include <array>

#include "seriatim/error.hpp"
#include "support/option_checks.hpp"

namespace seriatim::app {

using std::chrono::milliseconds;

namespace {

/// A shorter value may be an ordinary word, such as the name of a tenant.
constexpr std::size_t secret_bytes_min = 16;

constexpr std::array<std::string_view, 7> own_headers = {
    "Host",       "Content-Length", "Content-Type", "Transfer-Encoding",
    "Connection", "Expect",         "User-Agent"};

void learn_header(const std::string& name, const std::string& value, Secrets& secrets) {
  if (names_a_secret(name)) secrets.learn(value);
  if (value.size() < secret_bytes_min) return;
  secrets.learn(value);
  secrets.learn(std::string_view(value).substr(value.find(' ') + 1));  // "Bearer TOKEN"
}

void check_header(Options& section, const std::string& name, const std::string& value) {
  try {
    handlers::check_header(name, value);
  } catch (const Error& error) {
    section.problem("headers", error.what());
  }
  if (std::any_of(own_headers.begin(), own_headers.end(),
                  [&](std::string_view own) { return handlers::same_header(own, name); })) {
    section.problem("headers", name + " is set by seriatim itself");
  }
}

/// Parts of path and query may be keys.
void learn_url(const std::string& url, Secrets& secrets) {
  const auto path = url.find('/', url.find("://") + 3);
  for (auto at = path; at != std::string::npos;) {
    const auto end = url.find_first_of("/?&=", at + 1);
    const auto part =
        std::string_view(url).substr(at + 1, end == std::string::npos ? end : end - at - 1);
    if (part.size() >= secret_bytes_min) secrets.learn(part);
    at = end;
  }
}

void check_url(Options& section, const std::string& url) {
  try {
    if (!url.empty()) (void)handlers::parse_url(url);
  } catch (const Error& error) {
    section.problem("url", error.what());
  }
}

}  // namespace

PostTarget read_post_target(Options& section, Secrets& secrets, milliseconds timeout) {
  PostTarget target;
  target.url = section.required_text("url");
  check_url(section, target.url);
  learn_url(target.url, secrets);
  for (const auto& [name, value] : section.text_table("headers")) {
    learn_header(name, value, secrets);
    check_header(section, name, value);
    target.headers.emplace_back(name, value);
  }
  target.ca_file = section.text("ca_file");
  handlers::check_readable(section, "ca_file", target.ca_file);
  target.timeout = section.duration("timeout", timeout);
  if (target.timeout < milliseconds{100} || target.timeout > std::chrono::seconds{30}) {
    section.problem("timeout", "must be between 100 ms and 30 s");
  }
  return target;
}

Poster::Poster(const PostTarget& target)
    : url_(handlers::parse_url(target.url)),
      client_({.allow_private = true, .ca_file = target.ca_file}) {
  headers_.add("Content-Type", "application/json");
  headers_.add("User-Agent", "seriatim");
  for (const auto& [name, value] : target.headers) headers_.add(name, value);
}

handlers::HttpResult Poster::post(std::string_view json,
                                  std::chrono::steady_clock::time_point deadline,
                                  const handlers::HeaderLines& more) {
  auto headers = headers_;
  headers.add(more);
  return client_.post({url_, headers, json}, deadline);
}

}  // namespace seriatim::app
