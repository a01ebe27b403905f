#pragma once

#include <chrono>

#include "seriatim/outcome.hpp"
#include "support/excerpt.hpp"
#include "support/http_client.hpp"

namespace seriatim::handlers {

/// What a status means for the record: the class table of the HTTP contract.
[[nodiscard]] Outcome::Kind classify_status(int status);

/// The outcome of a whole exchange. The reason holds the start of the answer's body (or of what
/// came instead of an answer), escaped, cut and cleared of what `redactor` knows.
[[nodiscard]] Outcome classify(const HttpResult& result, const Redactor& redactor,
                               std::chrono::system_clock::time_point now);

}  // namespace seriatim::handlers
