#include "redis/redis_config.hpp"

#include <charconv>
#include <fstream>

#include "support/cannot_render.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

namespace {

constexpr ServiceScheme redis_scheme{"redis", "rediss", "6379"};
constexpr std::int64_t maxlen_max = 1'000'000'000'000;
constexpr std::int64_t replicas_max = 100;

unsigned database_of(const std::string& path) {
  unsigned number = 0;
  const auto* end = path.data() + path.size();
  const auto [stop, error] = std::from_chars(path.data(), end, number);
  if (path.empty() || (error == std::errc{} && stop == end)) return number;
  throw CannotRender("the part after the host must be the number of a database, such as /0");
}

void read_url(Options& options, RedisHandlerConfig& config) {
  const auto text = options.required_text("url");
  if (text.empty()) return;
  try {
    auto url = parse_service_url(text, redis_scheme);
    config.database = database_of(url.path);
    config.place = std::move(url.place);
    config.username = std::move(url.user);
    config.password = std::move(url.password);
  } catch (const CannotRender& e) {
    options.problem("url", e.what());
  }
}

void read_credentials(Options& options, RedisHandlerConfig& config) {
  for (const auto& [key, value] :
       {std::pair{"username", &config.username}, std::pair{"password", &config.password}}) {
    if (!options.has(key)) continue;
    if (!value->empty()) options.problem(key, "is in the url already");
    *value = options.text(key);
  }
  if (!config.username.empty() && config.password.empty()) {
    options.problem("password", "is missing: a user name alone does not log in");
  }
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
  try {
    (void)Template(config.stream, Escaping::none);
  } catch (const CannotRender& e) {
    options.problem("stream", e.what());
  }
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
  read_url(options, config);
  read_credentials(options, config);
  read_stream(options, config);
  config.form = read_message_form(options);
  read_replicas(options, config);
  config.connect_timeout = options.duration("connect_timeout", config.connect_timeout);
  config.ca_file = options.text("ca_file");
  if (!config.ca_file.empty() && !std::ifstream(config.ca_file)) {
    options.problem("ca_file", "cannot be read");
  }
  return config;
}

}  // namespace seriatim::handlers
