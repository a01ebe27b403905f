#include "redis/chunk.hpp"

#include <algorithm>
#include <deque>

#include "redis/append_script.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

std::size_t bytes_of(const Record& record) {
  auto bytes = record.id().size() + (record.payload ? record.payload->size() : 0);
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
  return bytes;
}

/// The words of one call. Views into the records, and texts made here, which stay where they are.
class Words {
 public:
  void add(std::string_view word) { words_.push_back(word); }
  void add_made(std::string word) { words_.push_back(made_.emplace_back(std::move(word))); }
  void add_number(std::uint64_t number) { add_made(std::to_string(number)); }

  void add_row(const Record& record) {
    add_number(record.sequence);
    add(record.id());
    const auto count_at = words_.size();
    add({});
    if (record.late) field("seriatim-late", "true");
    if (record.event_type) field("event-type", *record.event_type);
    if (record.key) field("key", *record.key);
    if (record.payload) field("payload", *record.payload);
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

  std::vector<std::string_view> words_;
  std::deque<std::string> made_;
};

}  // namespace

Chunker::Chunker(const RedisHandlerConfig& config)
    : stream_(config.stream, Escaping::none), by_record_(config.stream_by_record) {}

std::string Chunker::stream_of(const Record& record) const {
  TemplateValues values(record);
  auto stream = stream_.render(values);
  if (stream.empty()) throw CannotRender("the name of the stream is empty for this record");
  return stream;
}

bool Chunker::has_stream(const Record& record, const std::string& stream) const {
  if (!by_record_) return true;
  try {
    return stream_of(record) == stream;
  } catch (const CannotRender&) {
    return false;  // told when it is the first of its chunk
  }
}

Chunk Chunker::next(std::span<const Record> rows, std::size_t limit) const {
  Chunk chunk{stream_of(rows.front()), {}};
  limit = std::min({limit, rows_max, rows.size()});
  std::size_t taken = 0;
  for (std::size_t bytes = 0; taken < limit; ++taken) {
    bytes += bytes_of(rows[taken]);
    if (taken == 0) continue;
    if (bytes > bytes_max) break;
    if (!has_stream(rows[taken], chunk.stream)) break;
  }
  chunk.rows = rows.first(taken);
  return chunk;
}

void add_append(RedisCommands& commands, const Chunk& chunk, const RedisHandlerConfig& config,
                const Precondition& precondition) {
  const auto* before = precondition.ends_with;
  Words words;
  words.add("EVAL");
  words.add(append_script);
  words.add("1");
  words.add(chunk.stream);
  words.add_number(chunk.rows.size());
  words.add_made(config.maxlen > 0 ? std::to_string(config.maxlen) : "");
  words.add(config.trim_exactly ? "=" : "~");
  words.add_number(precondition.acknowledged);
  words.add(config.wait_replicas > 0 ? "1" : "0");
  words.add(chunk.rows.front().process);
  words.add_number(chunk.rows.front().epoch);
  words.add_made(before ? std::to_string(before->sequence) : "");
  words.add(before ? std::string_view(before->id()) : "");
  for (const auto& record : chunk.rows) words.add_row(record);
  commands.add(words.all());
}

}  // namespace seriatim::handlers
