#pragma once

#include <optional>
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

/// The headers every receiver gets: Idempotency-Key and Seriatim-*.
void add_delivery_headers(const Record& record, std::vector<Header>& headers);

/// Copies the record's headers named in `names`, in that order.
void pass_headers(const Record& record, const std::vector<std::string>& names,
                  std::vector<Header>& headers);

}  // namespace seriatim::handlers
