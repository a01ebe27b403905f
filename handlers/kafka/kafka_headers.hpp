#pragma once

#include <functional>
#include <string_view>

#include "seriatim/record.hpp"
#include "support/message_form.hpp"

namespace seriatim::handlers {

/// Names the headers of a record's message one by one: ours, those of the form, the record's own.
void add_headers(const Record& record, const MessageForm& form, bool with_content_type,
                 const std::function<void(std::string_view name, std::string_view value)>& add);

}  // namespace seriatim::handlers
