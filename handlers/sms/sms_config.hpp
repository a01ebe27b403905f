#pragma once

#include <string>

#include "seriatim/options.hpp"
#include "support/http_target.hpp"

namespace seriatim::handlers {

struct SmsHandlerConfig {
  HttpTarget target;
  std::string to;    ///< template; must give an E.164 number: "+4560000000"
  std::string from;  ///< template; a number, a short code or a sender's name
  std::string body;  ///< template
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] SmsHandlerConfig read_sms_config(Options& options);

}  // namespace seriatim::handlers
