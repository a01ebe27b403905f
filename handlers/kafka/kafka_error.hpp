#pragma once

#include <string>

namespace seriatim::handlers {

/// What an error of librdkafka or of the broker speaks against.
enum class KafkaRefusal {
  nothing,     ///< no error
  collateral,  ///< purged because of another row, or when the time was over
  server,      ///< its state or ours at it: it may work later
  topic,       ///< there is none of that name
  too_large,   ///< the request: one row alone, or as many rows as it holds
  rows,        ///< it will never take one of the rows of that request
};

/// By a code of rd_kafka_resp_err_t.
[[nodiscard]] KafkaRefusal refusal_of(int error);

/// "MSG_SIZE_TOO_LARGE: Broker: Message size too large"
[[nodiscard]] std::string describe_error(int error);

}  // namespace seriatim::handlers
