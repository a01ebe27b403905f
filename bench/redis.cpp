// The redis handler's batch form next to a loop of pipelined XADDs through hiredis, with the same
// fields, on the same server: bench/run --only handlers. Figures: handlers/redis/README.md.
#include <doctest/doctest.h>
#include <hiredis/hiredis.h>

#include "handler_rate.hpp"
#include "seriatim/handlers.hpp"
#include "support/redis_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

class BrokerOnPort final : public BrokerUnderTest {
 public:
  explicit BrokerOnPort(const RedisServer& server) : server_(server) {}
  const char* kind() const override { return "redis"; }
  HandlerOptions options() const override { return {{"url", server_.url()}}; }
  void start() override {}
  void stop() override {}
  void kill() override {}
  void freeze() override {}
  void thaw() override {}
  std::string refused_payload() const override { return {}; }
  std::vector<BrokerMessage> messages() override { return {}; }
  bool drops_repeats() const override { return true; }

 private:
  const RedisServer& server_;
};

/// The fields of an entry as the handler writes them.
void append(redisContext* redis, const Record& row) {
  const auto number = std::to_string(row.sequence);
  const auto epoch = std::to_string(row.epoch);
  const auto entry = number + "-0";
  const std::vector<std::string_view> words{"XADD",          "raw",
                                            entry,           "id",
                                            row.id(),        "seriatim-process",
                                            row.process,     "seriatim-sequence",
                                            number,          "seriatim-epoch",
                                            epoch,           "event-type",
                                            *row.event_type, "key",
                                            *row.key,        "payload",
                                            *row.payload};
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(redis, static_cast<int>(words.size()), starts.data(), sizes.data());
}

void send_raw(redisContext* redis, std::span<const Record> batch) {
  for (const auto& row : batch) append(redis, row);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    void* reply = nullptr;
    REQUIRE(redisGetReply(redis, &reply) == REDIS_OK);
    REQUIRE(static_cast<redisReply*>(reply)->type == REDIS_REPLY_STRING);
    freeReplyObject(reply);
  }
}

}  // namespace

TEST_CASE("redis") {
  for (const char* append_only : {"no", "yes"}) {
    for (const std::size_t payload_bytes : {200UL, 2'000UL}) {
      for (const std::size_t batch_rows : {100UL, 1'000UL}) {
        const RedisServer server({.settings = {"--appendonly", append_only}});
        const auto handler = make_handler(handlers::register_redis, BrokerOnPort(server));
        const std::unique_ptr<redisContext, decltype(&redisFree)> raw(
            redisConnect("127.0.0.1", server.port()), redisFree);
        const auto send = [&](std::span<const Record> batch) {
          const auto deadline = std::chrono::steady_clock::now() + 10s;
          REQUIRE(handler->handle(batch, {deadline, deadline, {}}).done == batch.size());
        };
        const auto what = std::string("redis, appendonly ") + append_only;
        compare(
            what.c_str(), send, [&](auto batch) { send_raw(raw.get(), batch); }, payload_bytes,
            batch_rows);
      }
    }
  }
}
