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

/// Headers of a request, in order. What is in here was checked.
class HeaderLines {
 public:
  /// Throws as check_header does.
  void add(std::string_view name, std::string_view value);
  void add_number(std::string_view name, std::uint64_t value);
  void add(const HeaderLines& lines) {
    lines_.insert(lines_.end(), lines.lines_.begin(), lines.lines_.end());
  }
  void clear() { lines_.clear(); }

  [[nodiscard]] const std::vector<Header>& all() const { return lines_; }

 private:
  std::vector<Header> lines_;
};

/// The headers every receiver gets: Idempotency-Key and Seriatim-*.
void add_delivery_headers(const Record& record, HeaderLines& headers);

/// Copies the record's headers named in `names`, in that order.
void pass_headers(const Record& record, const std::vector<std::string>& names,
                  HeaderLines& headers);

}  // namespace seriatim::handlers
