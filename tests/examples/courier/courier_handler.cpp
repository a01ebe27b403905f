// The handler of a service that takes lines over TCP, or over TLS.
//
// A row is the line "ID BODY", the body in base64. Each line is answered by a line, in order: "ok",
// "later WHY" or "never WHY". After an answer other than "ok" the service takes no further line and
// hangs up, so no row overtakes one that was refused.
#include <algorithm>

#include "support/cannot_render.hpp"
#include "support/connector.hpp"
#include "support/encoding.hpp"
#include "support/pipelined_handler.hpp"
#include "support/service_config.hpp"

namespace seriatim::handlers {

void register_courier(HandlerRegistry& registry);

namespace {

constexpr std::size_t round_bytes_max = 1 << 20;
constexpr std::size_t answers_bytes_max = 1 << 20;

struct CourierConfig : ServiceConfig {
  std::size_t in_flight = 1'000;  ///< rows sent and not yet answered
};

CourierConfig read_courier_config(Options& options) {
  CourierConfig config;
  const auto path = read_service(options, {"courier", "couriers", "7171"}, config);
  if (!path.empty()) options.problem("url", "must not hold a path");
  config.in_flight = static_cast<std::size_t>(options.integer("in_flight", 1'000, 1, 100'000));
  return config;
}

/// Takes the first line of `text`; absent if no line is complete.
std::optional<std::string> take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  std::string line(text.substr(0, end));
  text.remove_prefix(end + 1);
  return line;
}

class CourierHandler final : public PipelinedHandler {
 public:
  explicit CourierHandler(CourierConfig config)
      : config_(std::move(config)),
        network_(config_.network()),
        connector_(network_),
        form_(config_.form) {
    hide(config_.password);
  }

 private:
  std::optional<Outcome> begin(Rows /*rows*/, Clock::time_point deadline) override {
    lines_.clear();
    if (stream_ && stream_->is_quiet()) return std::nullopt;
    auto opened = connector_.open(config_.place, deadline);
    if (const auto* failure = std::get_if<HttpFailure>(&opened)) {
      return Outcome::retry_later(reported(failure->what));
    }
    stream_ = std::get<std::unique_ptr<ByteStream>>(std::move(opened));
    return config_.username.empty() ? std::nullopt : log_in(deadline);
  }

  std::optional<Outcome> log_in(Clock::time_point deadline) {
    const auto line =
        "login " + percent_encode(config_.username) + ' ' + percent_encode(config_.password) + '\n';
    const auto said = ask(line, 1, deadline);
    if (said.answers == "ok\n") return std::nullopt;
    stream_.reset();
    return Outcome::retry_later(reported("no login: " + said.answers + said.failure));
  }

  bool add(Rows rows, std::size_t row) override {
    if (row >= config_.in_flight || lines_.size() >= round_bytes_max) return false;
    const auto body = form_.body_of(rows[row]);
    if (!body.bytes()) throw CannotRender("the payload is NULL, which a line cannot say");
    lines_ +=
        percent_encode(rows[row].idempotency_key()) + ' ' + base64_encode(*body.bytes()) + '\n';
    return true;
  }

  RoundResult settle(Rows sent, Clock::time_point deadline) override {
    const auto said = ask(lines_, sent.size(), deadline);
    std::string_view answers = said.answers;
    RoundResult round;
    auto line = take_line(answers);
    for (; line == "ok" && round.done < sent.size(); line = take_line(answers)) ++round.done;
    // No late or surplus answer may count for another row.
    if (line || !answers.empty() || !said.failure.empty()) stream_.reset();
    if (round.done < sent.size()) round.failure = outcome_of(line, said.failure);
    return round;
  }

  /// Of a row that was sent, by its answer.
  [[nodiscard]] Outcome outcome_of(const std::optional<std::string>& line,
                                   const std::string& failure) const {
    if (!line) return Outcome::unknown(reported("no answer: " + failure));
    if (line->starts_with("later ")) return Outcome::retry_later(reported(line->substr(6)));
    if (line->starts_with("never ")) return Outcome::poison(reported(line->substr(6)));
    return Outcome::unknown(reported("not an answer: " + *line));
  }

  struct Said {
    std::string answers;
    std::string failure;  ///< why some are missing
  };
  [[nodiscard]] Said ask(std::string_view lines, std::size_t count, Clock::time_point deadline) {
    Said said;
    const auto take = [&](std::string_view bytes) {
      said.answers += bytes;
      const auto ends = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
      count -= std::min(count, ends);
      return count == 0 || said.answers.size() > answers_bytes_max;
    };
    said.failure = stream_->talk(lines, take, deadline);
    return said;
  }

  CourierConfig config_;
  HttpClientConfig network_;
  Connector connector_;
  MessageForm form_;
  std::unique_ptr<ByteStream> stream_;
  std::string lines_;  ///< of this round
};

}  // namespace

void register_courier(HandlerRegistry& registry) {
  add_pipelined_kind<CourierHandler>(registry, "courier",
                                     "a line to a courier service a record, answered by a line",
                                     read_courier_config);
}

}  // namespace seriatim::handlers
