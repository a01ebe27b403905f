#include "redis/redis_connection.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <charconv>
#include <new>
#include <utility>

namespace seriatim::handlers {

namespace {

// The answers to our commands are a few hundred bytes.
constexpr std::size_t answer_bytes_max = 1 << 20;

RedisReply value_of(const redisReply& reply) {
  using Kind = RedisReply::Kind;
  RedisReply value;
  switch (reply.type) {
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING: value.kind = Kind::text; break;
    case REDIS_REPLY_ERROR: value.kind = Kind::error; break;
    case REDIS_REPLY_INTEGER: value.kind = Kind::number; break;
    case REDIS_REPLY_ARRAY: value.kind = Kind::list; break;
    default: break;
  }
  value.number = reply.integer;
  if (reply.str != nullptr) value.text.assign(reply.str, reply.len);
  for (std::size_t i = 0; i < reply.elements; ++i)
    value.items.push_back(value_of(*reply.element[i]));
  return value;
}

/// Takes bytes as they come and gives replies, until there are as many as commands were sent.
class Replies {
 public:
  explicit Replies(std::size_t expected)
      : expected_(expected), reader_(redisReaderCreate(), redisReaderFree) {
    if (!reader_) throw std::bad_alloc();
  }

  bool take(std::string_view bytes) {
    bytes_ += bytes.size();
    redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
    while (found_.size() < expected_ && next()) {
    }
    return found_.size() == expected_ || !problem().empty();
  }
  [[nodiscard]] std::string problem() const {
    if (reader_->err != 0) return std::string("not an answer of Redis: ") + reader_->errstr;
    return bytes_ > answer_bytes_max ? "the answer is over 1 MiB" : "";
  }
  [[nodiscard]] std::vector<RedisReply> found() { return std::move(found_); }

 private:
  bool next() {
    void* raw = nullptr;
    if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK || raw == nullptr) return false;
    const std::unique_ptr<void, decltype(&freeReplyObject)> owner(raw, freeReplyObject);
    found_.push_back(value_of(*static_cast<const redisReply*>(raw)));
    return true;
  }

  std::size_t expected_;
  std::size_t bytes_ = 0;
  std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader_;
  std::vector<RedisReply> found_;
};

}  // namespace

void RedisCommands::add(std::span<const std::string_view> words) {
  const auto add_number = [this](char what, std::size_t number) {
    std::array<char, 20> digits{};
    const auto* end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    bytes_.append(1, what).append(digits.cbegin(), end).append("\r\n");
  };
  add_number('*', words.size());
  for (const auto& word : words) {
    add_number('$', word.size());
    bytes_.append(word).append("\r\n");
  }
  count_ += 1;
}

RedisConnection::RedisConnection(const RedisHandlerConfig& config)
    : config_(config), network_(config.network()), connector_(network_) {}

RedisConnection::Answer RedisConnection::ask(const RedisCommands& commands,
                                             std::chrono::steady_clock::time_point deadline) {
  if (!is_open()) {
    if (auto failure = open(deadline); !failure.empty()) {
      close();
      return {{}, std::move(failure)};
    }
  }
  return talk(commands, deadline);
}

std::string RedisConnection::open(std::chrono::steady_clock::time_point deadline) {
  auto opened = connector_.open(config_.place, deadline);
  if (const auto* failure = std::get_if<HttpFailure>(&opened)) return failure->what;
  stream_ = std::get<std::unique_ptr<ByteStream>>(std::move(opened));
  const auto answer = talk(greeting(), deadline);
  for (const auto& reply : answer.replies) {
    if (reply.kind == RedisReply::Kind::error) return config_.place.origin() + ": " + reply.text;
  }
  return answer.failure;
}

RedisCommands RedisConnection::greeting() const {
  RedisCommands commands;
  if (!config_.password.empty() && config_.username.empty()) {
    commands.add({"AUTH", config_.password});
  } else if (!config_.password.empty()) {
    commands.add({"AUTH", config_.username, config_.password});
  }
  if (config_.database != 0) {
    const auto number = std::to_string(config_.database);
    commands.add({"SELECT", number});
  }
  // Where MULTI is refused (rights, a command renamed) the rows behind it would go in one by one.
  commands.add({"MULTI"});
  commands.add({"EXEC"});
  return commands;
}

RedisConnection::Answer RedisConnection::talk(const RedisCommands& commands,
                                              std::chrono::steady_clock::time_point deadline) {
  Replies replies(commands.count());
  auto failure = stream_->talk(
      commands.bytes(), [&](std::string_view bytes) { return replies.take(bytes); }, deadline);
  if (failure.empty()) failure = replies.problem();
  if (!failure.empty()) {  // a late answer must never be taken for that to another command
    close();
    failure.insert(0, config_.place.origin() + ": ");
  }
  return {replies.found(), std::move(failure)};
}

}  // namespace seriatim::handlers
