#include "support/http_sender.hpp"

#include <algorithm>
#include <utility>

#include "support/cannot_render.hpp"
#include "support/classify.hpp"
#include "support/connection.hpp"
#include "support/encoding.hpp"
#include "support/header_text.hpp"

namespace seriatim::handlers {

namespace {

// A path segment may be a value of the record; receivers resolve . and .. whether encoded or not.
void refuse_dot_segments(const Url& url) {
  std::string_view path = url.target;
  path = path.substr(0, path.find('?'));
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") {
      throw CannotRender("the record gives the URL a path segment . or .., which leads elsewhere");
    }
    path.remove_prefix(segment.size());
  }
}

std::string credentials(const HttpTarget& target) {
  if (!target.token.empty()) return "Bearer " + target.token;
  if (target.username.empty()) return {};
  return "Basic " + base64_encode(target.username + ':' + target.password);
}

}  // namespace

HttpSender::HttpSender(HttpTarget target)
    : target_(std::move(target)),
      url_template_(target_.url, Escaping::url),
      client_(target_.client) {
  if (url_template_.is_constant()) url_ = parse_url(target_.url);
  headers_ = target_.headers;
  headers_.emplace_back("User-Agent", "seriatim");
  if (const auto value = credentials(target_); !value.empty()) {
    headers_.emplace_back("Authorization", value);
  }
  hide_target();
}

// Receivers echo requests in their answers. Parts of a path are secrets with some (chat webhooks).
void HttpSender::hide_target() {
  constexpr std::size_t part_bytes_min = 16;
  hide(target_.password);
  hide(target_.token);
  for (const auto& [name, value] : headers_) {
    if (name != "User-Agent") hide(value);
  }
  if (const auto value = credentials(target_); value.starts_with("Basic ")) hide(value.substr(6));
  const auto host_end = target_.url.find_first_of("/?", target_.url.find("://") + 3);
  for (std::string_view rest = target_.url; !rest.empty();) {
    const auto part = rest.substr(0, rest.find_first_of("/?&="));
    if (part.size() >= part_bytes_min) {
      hide(part);
      if (target_.url.size() - rest.size() > host_end) target_redactor_.add(part);
    }
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
}

const Url& HttpSender::url_for(TemplateValues& values) {
  if (url_template_.is_constant()) return *url_;
  url_ = parse_url(url_template_.render(values));
  refuse_dot_segments(*url_);
  return *url_;
}

const HeaderLines& HttpSender::fixed_lines() {
  if (fixed_lines_.all().empty()) {
    HeaderLines lines;
    for (const auto& [name, value] : headers_) lines.add(name, value);
    fixed_lines_ = std::move(lines);
  }
  return fixed_lines_;
}

HttpRequest HttpSender::request_of(const Record& record, TemplateValues& values,
                                   const HttpMessage& message) {
  const auto& url = url_for(values);
  lines_.clear();
  lines_.add(message.headers);
  add_delivery_headers(record, lines_);
  pass_headers(record, target_.pass_headers, lines_);
  lines_.add(fixed_lines());
  return {url, lines_, message.body};
}

Rendering HttpSender::render(const Record& record, TemplateValues& values,
                             const HttpMessage& message) {
  const auto request = request_of(record, values, message);
  const auto url = request.url.origin() + target_redactor_.redact(request.url.target);
  Rendering rendering{{{"method", "POST"}, {"url", url}},
                      headers_of(request, !target_.client.keep_alive),
                      std::string(message.body)};
  for (auto& [name, value] : rendering.headers) {
    const auto is_it = [&](const Header& secret) { return same_header(secret.first, name); };
    const bool configured = std::any_of(target_.headers.begin(), target_.headers.end(), is_it);
    if (configured || same_header(name, "Authorization")) value = masked;
  }
  return rendering;
}

HttpResult HttpSender::post(const Record& record, TemplateValues& values,
                            const HttpMessage& message, const CallContext& context) {
  const auto request = request_of(record, values, message);
  auto deadline = context.deadline;
  if (target_.timeout.count() > 0) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + target_.timeout);
  }
  return client_.post(request, deadline);
}

Outcome HttpSender::judge(const HttpResult& result, const Record& record,
                          const HttpMessage& message) {
  const auto* answer = std::get_if<HttpAnswer>(&result);
  if (answer) unreadable_in_row_ = 0;
  if (answer && classify_status(answer->status) == Outcome::Kind::done) return Outcome::done();
  auto redactor = redactor_;
  for (const auto text : message.hidden) redactor.add(text);
  auto outcome = classify(result, redactor, std::chrono::system_clock::now());
  const auto* failure = std::get_if<HttpFailure>(&result);
  const bool unreadable = failure && failure->kind == HttpFailure::Kind::unreadable;
  return unreadable ? count_unreadable(record, std::move(outcome)) : outcome;
}

Outcome HttpSender::count_unreadable(const Record& record, Outcome outcome) {
  constexpr unsigned in_row_max = 3;
  if (unreadable_for_ != record.id()) unreadable_in_row_ = 0;
  unreadable_for_ = record.id();
  if (++unreadable_in_row_ < in_row_max) return outcome;
  unreadable_in_row_ = 0;  // an operator's retry has as many again
  return Outcome::unknown_and_halt(
      std::to_string(in_row_max) +
      " times in a row (check what the receiver did): " + outcome.reason);
}

}  // namespace seriatim::handlers
