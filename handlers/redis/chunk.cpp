#include "redis/chunk.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "redis/append_script.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

std::size_t bytes_of(const Record& record, const MessageBody& body) {
  auto bytes = record.id().size() + body.bytes().value_or("").size();
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
  return bytes;
}

/// The words of one call. Views into the records, and texts made here, which stay where they are.
class Words {
 public:
  void add(std::string_view word) { words_.push_back(word); }
  void add_made(std::string word) { words_.push_back(made_.emplace_back(std::move(word))); }
  void add_number(std::uint64_t number) { add_made(std::to_string(number)); }

  void add_row(const Record& record, const MessageBody& body, const MessageForm& form) {
    add_number(record.sequence);
    add(record.id());
    const auto count_at = words_.size();
    add({});
    if (record.late) field("seriatim-late", "true");
    if (record.event_type) field("event-type", *record.event_type);
    if (record.key) field("key", *record.key);
    if (form.tells_content_type()) field("content-type", form.content_type());
    for (auto& [name, value] : form.attributes_of(record)) field_made("ce_" + name, value);
    if (const auto bytes = body.bytes()) field("payload", *bytes);
    for (const auto& [name, value] : record.headers) {
      add_made("header:" + name);
      add(value);
    }
    words_[count_at] = made_.emplace_back(std::to_string(words_.size() - count_at - 1));
  }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return words_; }

 private:
  void field(std::string_view name, std::string_view value) {
    add(name);
    add(value);
  }

  void field_made(std::string name, std::string value) {
    add_made(std::move(name));
    add_made(std::move(value));
  }

  std::vector<std::string_view> words_;
  std::deque<std::string> made_;
};

}  // namespace

Chunker::Chunker(RedisHandlerConfig config)
    : config_(std::move(config)), stream_(config_.stream, Escaping::none), form_(config_.form) {}

std::string Chunker::stream_of(const Record& record) const {
  TemplateValues values(record);
  auto stream = stream_.render(values);
  if (stream.empty()) throw CannotRender("the name of the stream is empty for this record");
  return stream;
}

bool Chunker::has_stream(const Record& record, const std::string& stream) const {
  return !config_.stream_by_record || stream_of(record) == stream;
}

/// False: it is not of this chunk.
bool Chunker::take(Chunk& chunk, const Record& record, std::size_t& bytes) const {
  const bool first = chunk.bodies.empty();
  try {
    if (!first && !has_stream(record, chunk.stream)) return false;
    auto body = form_.body_of(record);
    bytes += bytes_of(record, body);
    if (!first && bytes > bytes_max) return false;
    chunk.bodies.push_back(std::move(body));
  } catch (const CannotRender&) {
    if (first) throw;
    return false;
  }
  return true;
}

Chunk Chunker::next(std::span<const Record> rows, std::size_t limit) const {
  Chunk chunk{stream_of(rows.front()), {}, {}};
  limit = std::min({limit, rows_max, rows.size()});
  chunk.bodies.reserve(limit);
  std::size_t bytes = 0;
  for (const auto& record : rows.first(limit)) {
    if (!take(chunk, record, bytes)) break;
  }
  chunk.rows = rows.first(chunk.bodies.size());
  return chunk;
}

void Chunker::add_append(RedisCommands& commands, const Chunk& chunk,
                         const Precondition& precondition) const {
  const auto* before = precondition.ends_with;
  Words words;
  words.add("EVAL");
  words.add(append_script);
  words.add("1");
  words.add(chunk.stream);
  words.add_number(chunk.rows.size());
  words.add_made(config_.maxlen > 0 ? std::to_string(config_.maxlen) : "");
  words.add(config_.trim_exactly ? "=" : "~");
  words.add_number(precondition.acknowledged);
  words.add(config_.wait_replicas > 0 ? "1" : "0");
  words.add(chunk.rows.front().process);
  words.add_number(chunk.rows.front().epoch);
  words.add_made(before ? std::to_string(before->sequence) : "");
  words.add(before ? std::string_view(before->id()) : "");
  for (std::size_t i = 0; i < chunk.rows.size(); ++i) {
    words.add_row(chunk.rows[i], chunk.bodies[i], form_);
  }
  commands.add(words.all());
}

}  // namespace seriatim::handlers
