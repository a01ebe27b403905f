#include "support/classify.hpp"

#include "support/retry_after.hpp"

namespace seriatim::handlers {

namespace {

Outcome from_answer(const HttpAnswer& answer, const Redactor& redactor,
                    std::chrono::system_clock::time_point now) {
  const auto kind = classify_status(answer.status);
  if (kind == Outcome::Kind::done) return Outcome::done();
  auto reason = "HTTP " + std::to_string(answer.status);
  if (!answer.body.empty()) reason += ": " + excerpt(redactor.redact(answer.body));
  if (kind == Outcome::Kind::poison) return Outcome::poison(std::move(reason));
  return Outcome::retry_later(std::move(reason), parse_retry_after(answer.retry_after, now));
}

// Cut after the redaction, so that no part of a secret is left at the end.
std::string first_bytes(const std::string& received, const Redactor& redactor) {
  constexpr std::size_t bytes_shown = 200;
  constexpr std::size_t escaped_bytes_max = 350;  // within Outcome::reason_bytes_max
  const auto text = redactor.redact(received);
  return excerpt(std::string_view(text).substr(0, bytes_shown), escaped_bytes_max);
}

Outcome from_failure(const HttpFailure& failure, const Redactor& redactor) {
  auto reason = excerpt(failure.what);
  switch (failure.kind) {
    case HttpFailure::Kind::not_sent: return Outcome::retry_later(std::move(reason));
    case HttpFailure::Kind::refused: return Outcome::poison(std::move(reason));
    case HttpFailure::Kind::lost: break;
    case HttpFailure::Kind::unreadable:
      return Outcome::unknown("sent, but the answer cannot be read (" + reason +
                              "); it begins: " + first_bytes(failure.received, redactor));
  }
  return Outcome::unknown("sent, but the answer was lost: " + std::move(reason));
}

}  // namespace

Outcome::Kind classify_status(int status) {
  if (status >= 200 && status < 300) return Outcome::Kind::done;
  if (status == 408 || status == 425 || status == 429) return Outcome::Kind::retry_later;
  // RFC 9110 §15: a status outside 100–599 is treated as a 5xx.
  if (status >= 500 || status < 100) return Outcome::Kind::retry_later;
  return Outcome::Kind::poison;
}

Outcome classify(const HttpResult& result, const Redactor& redactor,
                 std::chrono::system_clock::time_point now) {
  if (const auto* answer = std::get_if<HttpAnswer>(&result)) {
    return from_answer(*answer, redactor, now);
  }
  return from_failure(std::get<HttpFailure>(result), redactor);
}

}  // namespace seriatim::handlers
