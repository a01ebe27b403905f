#include "support/http_answer.hpp"

#include "fuzz/fuzz_target.hpp"
#include "support/answer_pieces.hpp"

namespace {

using namespace seriatim::handlers;

std::string answer_read(HttpAnswerReader& reader, std::string_view text, std::size_t piece) {
  seriatim::testing::AnswerPieces stream{text, piece};
  HttpAnswerReader::Error error;
  reader.begin();
  if (reader.read_head(stream, error)) {
    reader.read_body(stream);
  } else {
    reader.failed(error);
  }
  const auto exchange = reader.judge({.any = true, .whole = true, .problem = {}});
  if (const auto* failure = std::get_if<HttpFailure>(&exchange.result)) {
    seriatim::fuzz::require(!exchange.reusable, "after a failure the connection is not used again");
    return failure->what + (failure->kind == HttpFailure::Kind::unreadable ? " unreadable" : "");
  }
  const auto& answer = std::get<HttpAnswer>(exchange.result);
  seriatim::fuzz::require(answer.status >= 100 && answer.status <= 999,
                          "a status has three digits");
  seriatim::fuzz::require(answer.body.size() <= 64 << 10, "64 KiB of a body are kept");
  return std::to_string(answer.status) + '\n' + answer.retry_after + '\n' + answer.body;
}

}  // namespace

SERIATIM_FUZZ_TARGET(http_answer) {
  HttpAnswerReader reader;
  const auto whole = answer_read(reader, input, input.size());
  const auto by_byte = answer_read(reader, input, 1);
  seriatim::fuzz::require(whole == by_byte && whole == answer_read(reader, input, 7),
                          "an answer is the same however it arrives, and after another");
}
