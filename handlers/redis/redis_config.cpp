#include "redis/redis_config.hpp"

#include <charconv>

#include "support/option_checks.hpp"

namespace seriatim::handlers {

namespace {

constexpr ServiceScheme redis_scheme{"redis", "rediss", "6379"};
constexpr std::int64_t maxlen_max = 1'000'000'000'000;
constexpr std::int64_t replicas_max = 100;

void read_database(Options& options, const std::string& path, RedisHandlerConfig& config) {
  const auto* end = path.data() + path.size();
  const auto [stop, error] = std::from_chars(path.data(), end, config.database);
  if (path.empty() || (error == std::errc{} && stop == end)) return;
  options.problem("url", "the part after the host must be the number of a database, such as /0");
}

bool names_more_than_the_lane(std::string stream) {
  for (const std::string_view tag : {"{{process}}", "{{lane}}"}) {
    for (auto at = stream.find(tag); at != std::string::npos; at = stream.find(tag)) {
      stream.erase(at, tag.size());
    }
  }
  return stream.find("{{") != std::string::npos;
}

void read_stream(Options& options, RedisHandlerConfig& config) {
  config.stream = options.text("stream", config.stream);
  config.stream_by_record = names_more_than_the_lane(config.stream);
  if (config.stream.empty()) options.problem("stream", "must not be empty");
  check_template(options, "stream", config.stream);
  config.maxlen = static_cast<std::uint64_t>(options.integer("maxlen", 0, 0, maxlen_max));
  config.trim_exactly = options.choice("trim", 0, {"approximate", "exact"}) == 1;
  if (options.has("trim") && config.maxlen == 0) {
    options.problem("trim", "says how, but nothing is trimmed without maxlen");
  }
}

void read_replicas(Options& options, RedisHandlerConfig& config) {
  config.wait_replicas =
      static_cast<unsigned>(options.integer("wait_replicas", 0, 0, replicas_max));
  config.wait_timeout = options.duration("wait_timeout", config.wait_timeout);
  if (options.has("wait_timeout") && config.wait_replicas == 0) {
    options.problem("wait_timeout", "is of no use without wait_replicas");
  }
  // WAIT takes 0 for "for ever".
  if (config.wait_timeout <= std::chrono::milliseconds{0}) {
    options.problem("wait_timeout", "must be at least 1ms");
  }
}

}  // namespace

RedisHandlerConfig read_redis_config(Options& options) {
  RedisHandlerConfig config;
  read_database(options, read_service(options, redis_scheme, config), config);
  if (!config.username.empty() && config.password.empty()) {
    options.problem("password", "is missing: a user name alone does not log in");
  }
  read_stream(options, config);
  read_replicas(options, config);
  return config;
}

}  // namespace seriatim::handlers
