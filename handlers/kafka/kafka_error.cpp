#include "kafka/kafka_error.hpp"

#include <librdkafka/rdkafka.h>

namespace seriatim::handlers {

KafkaRefusal refusal_of(int error) {
  switch (static_cast<rd_kafka_resp_err_t>(error)) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: return KafkaRefusal::nothing;

    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE: return KafkaRefusal::collateral;

    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: return KafkaRefusal::topic;

    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE: return KafkaRefusal::too_large;

    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:  // no key in a compacted topic …
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:  // a name no topic may have, or an internal topic
    case RD_KAFKA_RESP_ERR__BAD_MSG: return KafkaRefusal::rows;

    default: return KafkaRefusal::server;
  }
}

std::string describe_error(int error) {
  const auto code = static_cast<rd_kafka_resp_err_t>(error);
  return std::string(rd_kafka_err2name(code)) + ": " + rd_kafka_err2str(code);
}

}  // namespace seriatim::handlers
