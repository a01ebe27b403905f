#include "nats/nats_message.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::size_t subject_bytes_max = 1'000;  // well below the server's control line
constexpr std::array<std::string_view, 4> our_names{"id", "key", "event-type", "content-type"};

std::string lower(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// A record's header of such a name would pass for what we say, or instruct the server.
bool is_ours(const std::string& given) {
  const auto name = lower(given);
  for (const std::string_view prefix : {"nats-", "seriatim-", "ce-"}) {
    if (name.starts_with(prefix)) return true;
  }
  return std::find(our_names.begin(), our_names.end(), name) != our_names.end();
}

bool is_blank_or_control(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
}

void check_subject(std::string_view subject) {
  if (subject.size() > subject_bytes_max) throw CannotRender("the subject is over 1000 bytes");
  if (std::any_of(subject.begin(), subject.end(), is_blank_or_control)) {
    throw CannotRender("the subject holds a blank or a control character");
  }
  // Commands to the server have such subjects.
  if (subject.starts_with('$')) throw CannotRender("the subject begins with $");
  for (auto rest = subject;;) {
    const auto dot = rest.find('.');
    const auto token = rest.substr(0, dot);
    if (token.empty()) throw CannotRender("a part of the subject between dots is empty");
    if (token == "*" || token == ">") throw CannotRender("the subject holds a wildcard");
    if (dot == rest.npos) return;
    rest.remove_prefix(dot + 1);
  }
}

void check_carried(const Header& header) {
  const auto& [name, value] = header;
  const auto bad = [](char c) { return is_blank_or_control(c) || c == ':'; };
  if (name.empty() || std::any_of(name.begin(), name.end(), bad)) {
    throw CannotRender(
        "a header's name is empty, or holds a blank, a colon or a control character");
  }
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != value.npos) {
    throw CannotRender("header " + name + " holds a line break or NUL, which NATS does not carry");
  }
}

}  // namespace

NatsMessageMaker::NatsMessageMaker(const NatsHandlerConfig& config)
    : stream_(config.stream), subject_(config.subject, Escaping::none), form_(config.form) {}

NatsMessage NatsMessageMaker::make(const Record& record) const {
  TemplateValues values(record);
  auto subject = subject_.render(values);
  check_subject(subject);
  NatsMessage made{std::move(subject), {}, form_.body_of(record, values)};
  auto& headers = made.headers;
  headers.reserve(record.headers.size() + 16);
  headers.emplace_back("Nats-Msg-Id", record.idempotency_key());
  if (!stream_.empty()) headers.emplace_back("Nats-Expected-Stream", stream_);
  headers.emplace_back("id", record.id());
  if (record.event_type) headers.emplace_back("event-type", *record.event_type);
  if (record.key) headers.emplace_back("key", *record.key);
  headers.emplace_back("content-type", form_.content_type());
  headers.emplace_back("seriatim-process", record.process);
  headers.emplace_back("seriatim-lane", std::to_string(record.lane));
  headers.emplace_back("seriatim-sequence", std::to_string(record.sequence));
  headers.emplace_back("seriatim-epoch", std::to_string(record.epoch));
  if (record.late) headers.emplace_back("seriatim-late", "true");
  // An empty body is empty text.
  if (!made.body.bytes()) headers.emplace_back("seriatim-payload", "null");
  for (const auto& [name, value] : form_.attributes_of(record)) {
    headers.emplace_back("ce-" + name, header_encode(value));
  }
  for (const auto& header : record.headers) {
    if (!is_ours(header.first)) headers.push_back(header);
  }
  std::for_each(headers.begin(), headers.end(), check_carried);
  return made;
}

}  // namespace seriatim::handlers
