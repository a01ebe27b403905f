#include "kafka/kafka_headers.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace seriatim::handlers {

namespace {

class Digits {
 public:
  explicit Digits(std::uint64_t number)
      : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr) {}
  [[nodiscard]] std::string_view text() const { return {text_.data(), end_}; }

 private:
  std::array<char, 20> text_{};
  const char* end_;
};

}  // namespace

void add_headers(const Record& record, const MessageForm& form, bool with_content_type,
                 const std::function<void(std::string_view, std::string_view)>& add) {
  add("id", record.id());
  if (record.event_type) add("event-type", *record.event_type);
  add("seriatim-process", record.process);
  add("seriatim-lane", Digits(record.lane).text());
  add("seriatim-sequence", Digits(record.sequence).text());
  add("seriatim-epoch", Digits(record.epoch).text());
  if (record.late) add("seriatim-late", "true");
  if (with_content_type) add("content-type", form.content_type());
  for (const auto& [name, value] : form.attributes_of(record)) add("ce_" + name, value);
  for (const auto& [name, value] : record.headers) add(name, value);
}

}  // namespace seriatim::handlers
