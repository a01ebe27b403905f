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

Outcome from_failure(const HttpFailure& failure) {
  auto reason = excerpt(failure.what);
  switch (failure.kind) {
    case HttpFailure::Kind::not_sent: return Outcome::retry_later(std::move(reason));
    case HttpFailure::Kind::refused: return Outcome::poison(std::move(reason));
    case HttpFailure::Kind::lost: break;
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
  return from_failure(std::get<HttpFailure>(result));
}

}  // namespace seriatim::handlers
