#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "seriatim/record.hpp"

namespace seriatim::handlers {

/// One flat JSON object on one line, member by member.
class JsonLine {
 public:
  /// `value` is JSON already, without line breaks.
  void raw(std::string_view name, std::string_view value);
  void text(std::string_view name, std::string_view value);
  void number(std::string_view name, std::uint64_t value);

  [[nodiscard]] std::string take() { return text_.empty() ? "{}" : text_ + '}'; }

 private:
  std::string text_;
};

/// A JSON object of the headers; of equal names each is there.
[[nodiscard]] std::string headers_json(const std::vector<Header>& headers);

enum class PayloadForm {
  json,    ///< `payload` where it is JSON, digits untouched; else as `text`
  text,    ///< `payload_text`; bytes that are no UTF-8 as `payload_base64`
  base64,  ///< `payload_base64`
  none,    ///< left out
};

/// A record for programs in any language, what is absent left out: `process`, `lane`, `sequence`,
/// `id`, `previous_id`, `late`, `epoch`, `attempt`, `created_at`, `key`, `event_type`, `headers`,
/// and the payload.
[[nodiscard]] JsonLine record_line(const Record& record, PayloadForm form);

}  // namespace seriatim::handlers
