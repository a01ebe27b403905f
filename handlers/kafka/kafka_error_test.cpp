// What the errors of Kafka and of its client speak against.
#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <vector>

#include "kafka/kafka_error.hpp"

using namespace seriatim::handlers;

TEST_CASE("each error has its class") {
  struct Row {
    rd_kafka_resp_err_t error;
    KafkaRefusal refusal;
  };
  for (const auto& row :
       std::vector<Row>{{RD_KAFKA_RESP_ERR_NO_ERROR, KafkaRefusal::nothing},
                        {RD_KAFKA_RESP_ERR__PURGE_QUEUE, KafkaRefusal::collateral},
                        {RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, KafkaRefusal::collateral},
                        {RD_KAFKA_RESP_ERR__FATAL, KafkaRefusal::collateral},
                        {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, KafkaRefusal::topic},
                        {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, KafkaRefusal::topic},
                        {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, KafkaRefusal::too_large},
                        {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, KafkaRefusal::too_large},
                        {RD_KAFKA_RESP_ERR_INVALID_RECORD, KafkaRefusal::rows},
                        {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, KafkaRefusal::rows},
                        {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, KafkaRefusal::rows},
                        {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, KafkaRefusal::rows},
                        {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, KafkaRefusal::server},
                        {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, KafkaRefusal::server},
                        {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, KafkaRefusal::server},
                        {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, KafkaRefusal::server},
                        {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, KafkaRefusal::server},
                        {RD_KAFKA_RESP_ERR__AUTHENTICATION, KafkaRefusal::server},
                        {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, KafkaRefusal::server}}) {
    CAPTURE(rd_kafka_err2name(row.error));
    CHECK((refusal_of(row.error) == row.refusal));
  }
}

TEST_CASE("an error is reported by its name and in words") {
  CHECK(describe_error(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) ==
        "MSG_SIZE_TOO_LARGE: Broker: Message size too large");
}
