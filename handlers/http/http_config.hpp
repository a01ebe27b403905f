#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "seriatim/options.hpp"
#include "support/http_target.hpp"
#include "support/message_form.hpp"

namespace seriatim::handlers {

struct HttpHandlerConfig {
  HttpTarget target;
  MessageFormConfig form;
  std::vector<std::string> secrets;  ///< Standard Webhooks; two while rotating
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] HttpHandlerConfig read_http_config(Options& options);

}  // namespace seriatim::handlers
