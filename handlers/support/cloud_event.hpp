#pragma once

#include <string>
#include <vector>

#include "seriatim/record.hpp"

namespace seriatim::handlers {

// CloudEvents 1.0. `id` is the record's, `source` "seriatim:<process>", so that both together are
// unique; `type` the event type ("seriatim.record" where there is none), `subject` the key, `time`
// created_at.

inline constexpr const char* cloud_event_content_type = "application/cloudevents+json";

/// Binary mode: the attributes by their bare names; each protocol's binding has a prefix and an
/// encoding of its own.
[[nodiscard]] std::vector<Header> cloud_event_attributes(const Record& record);

/// Structured mode: the JSON envelope. A payload that is not JSON goes as data_base64, NULL as
/// none.
[[nodiscard]] std::string cloud_event_json(const Record& record, const std::string& content_type);

}  // namespace seriatim::handlers
