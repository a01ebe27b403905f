#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "seriatim/record.hpp"
#include "seriatim/registry.hpp"

namespace seriatim::testing {

/// A `[process.handler]` table but for `kind`.
using HandlerOptions =
    std::map<std::string, std::variant<bool, std::int64_t, std::string, std::vector<std::string>>>;

/// A message as a reader finds it in the broker.
struct BrokerMessage {
  std::string id;
  std::optional<std::string> key;
  std::optional<std::string> event_type;
  std::optional<std::string> payload;
  std::vector<Header> headers;  ///< the record's own
  std::string process;
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
};

/// What the contract suite needs of a broker to put its handler through its paces: a real server
/// and a reader that shares nothing with the handler. One fresh one each case, started.
class BrokerUnderTest {
 public:
  virtual ~BrokerUnderTest() = default;

  virtual const char* kind() const = 0;
  virtual HandlerOptions options() const = 0;

  virtual void start() = 0;  ///< where it was, with what it had; returns once it answers
  virtual void stop() = 0;
  virtual void kill() = 0;    ///< -9
  virtual void freeze() = 0;  ///< SIGSTOP
  virtual void thaw() = 0;

  /// A payload it takes nothing of, at most 4 MiB.
  virtual std::string refused_payload() const = 0;
  /// Everything lane 0 of process "p" wrote, in the order readers see.
  virtual std::vector<BrokerMessage> messages() = 0;
  /// How many there are; may be cheaper.
  virtual std::size_t count() { return messages().size(); }
  /// A row handed over again does not become a second message.
  virtual bool drops_repeats() const = 0;
};

using BrokerFactory = std::function<std::unique_ptr<BrokerUnderTest>()>;

/// Every handler of a broker passes this suite, as subcases of the test case that calls it:
///
///     TEST_CASE("redis keeps the handler contract") {
///       keep_handler_contract(register_redis, [] { return std::make_unique<RedisUnderTest>(); });
///     }
void keep_handler_contract(void (*register_kind)(HandlerRegistry&), const BrokerFactory& make);

}  // namespace seriatim::testing
