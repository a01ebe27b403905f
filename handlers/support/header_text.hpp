#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "seriatim/record.hpp"

namespace seriatim::handlers {

/// Throws CannotRender for a name that is no HTTP token or a value with a control character: a
/// record must not be able to write header lines of its own.
void check_header(std::string_view name, std::string_view value);

/// Same header name, any case.
[[nodiscard]] bool same_header(std::string_view a, std::string_view b);

/// Header lines as they go over the wire. What is in here was checked.
class HeaderLines {
 public:
  /// Throws as check_header does.
  void add(std::string_view name, std::string_view value);
  void add_number(std::string_view name, std::uint64_t value);
  void add(const HeaderLines& lines) { text_ += lines.text_; }
  void clear() { text_.clear(); }  ///< its memory stays, for the next record's

  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string text_;
};

/// The headers every receiver gets: Idempotency-Key and Seriatim-*.
void add_delivery_headers(const Record& record, HeaderLines& headers);

/// Copies the record's headers named in `names`, in that order.
void pass_headers(const Record& record, const std::vector<std::string>& names,
                  HeaderLines& headers);

}  // namespace seriatim::handlers
