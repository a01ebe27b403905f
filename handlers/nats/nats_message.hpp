#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nats/nats_config.hpp"
#include "seriatim/record.hpp"
#include "support/message_form.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// A record made ready for JetStream.
///
/// Lifetime: may refer to the record it was made of.
struct NatsMessage {
  std::string subject;
  std::vector<Header> headers;
  MessageBody body;
};

/// Records as messages of NATS: subject, headers, body.
class NatsMessageMaker {
 public:
  /// Throws CannotRender for a configuration that `read_nats_config` would have complained about.
  explicit NatsMessageMaker(const NatsHandlerConfig& config);

  /// Throws CannotRender where a template wants what the record lacks, or for what NATS does not
  /// carry: a wildcard in the subject, a line break in a header.
  [[nodiscard]] NatsMessage make(const Record& record) const;

 private:
  std::string stream_;
  Template subject_;
  MessageForm form_;
};

}  // namespace seriatim::handlers
