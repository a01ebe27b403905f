#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "seriatim/options.hpp"
#include "support/http_target.hpp"

namespace seriatim::handlers {

struct HttpHandlerConfig {
  enum class Body {
    payload,                 ///< the bytes as stored
    cloudevents,             ///< the same bytes; the event's attributes as ce-* headers
    cloudevents_structured,  ///< one JSON envelope
    rendered,                ///< `body_template`
  };

  HttpTarget target;
  Body body = Body::payload;
  std::string body_template;
  std::string content_type = "application/json";
  std::vector<std::string> secrets;  ///< Standard Webhooks; two while rotating
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] HttpHandlerConfig read_http_config(Options& options);

}  // namespace seriatim::handlers
