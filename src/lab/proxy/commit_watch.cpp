#include "lab/proxy/commit_watch.hpp"

#include <algorithm>
#include <cctype>

namespace seriatim::torture {

namespace {

constexpr std::size_t begun_bytes_max = 4'096;       // a statement's name and its first word, or
                                                     // the move of a cursor before its COMMIT
constexpr std::size_t start_up_bytes_max = 10'000;   // PostgreSQL's own limit
constexpr std::size_t message_bytes_max = 1U << 30;  // and again
constexpr std::uint32_t ask_for_tls = 80877103;
constexpr std::uint32_t ask_for_gss = 80877104;
constexpr std::uint32_t protocol_3 = 3 << 16;

std::uint32_t number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

bool begins_with(std::string_view text, std::string_view word) {
  for (;;) {  // after spaces and comments
    const auto first = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(std::min(first, text.size()));
    if (!text.starts_with("--")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == std::toupper(static_cast<unsigned char>(b));
         });
}

bool commits(std::string_view text) {
  return begins_with(text, "COMMIT") || begins_with(text, "UPDATE SERIATIM.CURSOR");
}

/// Takes a string that ends with a zero off the front.
std::string_view take_string(std::string_view& body) {
  const auto text = body.substr(0, body.find('\0'));
  body.remove_prefix(std::min(body.size(), text.size() + 1));
  return text;
}

}  // namespace

CommitWatch::Offsets CommitWatch::from_client(std::string_view bytes) {
  return follow(client_, bytes,
                [this](std::string_view message) { return asks_for_commit(message); });
}

/// Query, of which it may be a later statement; Parse, for a statement without a name; else Bind.
bool CommitWatch::asks_for_commit(std::string_view message) {
  auto body = message.substr(5);
  if (message[0] == 'Q') {
    return commits(body) || body.find(";COMMIT;") != std::string_view::npos;
  }
  if (message[0] == 'B') {
    take_string(body);  // the portal
    return prepared_.contains(take_string(body));
  }
  if (message[0] != 'P') return false;
  const auto name = std::string(take_string(body));
  const bool is_commit = commits(body);
  if (name.empty()) return is_commit;
  prepared_.erase(name);
  if (is_commit) prepared_.insert(name);
  return false;
}

CommitWatch::Offsets CommitWatch::from_server(std::string_view bytes) {
  return follow(server_, bytes,
                [this](std::string_view message) { return answers_commit(message); });
}

/// CommandComplete, by its tag.
bool CommitWatch::answers_commit(std::string_view message) {
  if (message[0] != 'C') return false;
  auto body = message.substr(5);
  const auto tag = take_string(body);
  if (tag == "BEGIN") in_transaction_ = true;
  if (tag == "COMMIT" || tag == "ROLLBACK") in_transaction_ = false;
  return tag == "COMMIT" || (tag.starts_with("UPDATE") && !in_transaction_);
}

template <class IsCommit>
CommitWatch::Offsets CommitWatch::follow(Stream& stream, std::string_view bytes,
                                         IsCommit is_commit) {
  Offsets found;
  std::size_t begin = 0;  // of the current message
  for (std::size_t at = 0; at < bytes.size() && !opaque_;) {
    if (stream.raw_bytes > 0) {
      stream.raw_bytes -= 1;
      opaque_ = bytes[at] != 'N';  // encrypted from here on
      begin = ++at;
      continue;
    }
    const std::size_t head = stream.typed ? 5 : 8;
    const auto left = stream.length == 0 ? head - stream.seen : stream.length - stream.seen;
    const auto piece = bytes.substr(at, left);
    stream.begun.append(piece.substr(0, begun_bytes_max - stream.begun.size()));
    stream.seen += piece.size();
    at += piece.size();
    if (stream.length == 0 && stream.seen == head) read_length(stream);
    const bool whole = stream.seen == stream.length;
    if (!whole && stream.begun.size() < begun_bytes_max) continue;
    if (stream.typed && !stream.judged && is_commit(stream.begun)) found.push_back(begin);
    stream.judged = true;
    if (!whole) continue;
    end_message(stream);
    begin = at;
  }
  return found;
}

void CommitWatch::read_length(Stream& stream) {
  const auto head = std::string_view(stream.begun);
  stream.length = stream.typed ? 1 + number(head.substr(1)) : number(head);
  const auto least = stream.typed ? 5U : 8U;
  const auto most = stream.typed ? message_bytes_max : start_up_bytes_max;
  if (stream.length < least || stream.length > most) opaque_ = true;
}

void CommitWatch::end_message(Stream& stream) {
  if (!stream.typed) {
    const auto code = number(std::string_view(stream.begun).substr(4));
    if (code == ask_for_tls || code == ask_for_gss) {
      server_.raw_bytes += 1;
    } else if (code == protocol_3) {
      stream.typed = true;
    } else {
      opaque_ = true;  // a request to cancel, or a protocol yet to come
    }
  }
  stream.begun.clear();
  stream.length = stream.seen = 0;
  stream.judged = false;
}

}  // namespace seriatim::torture
