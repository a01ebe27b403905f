#include "support/http_answer.hpp"

#include <boost/asio/error.hpp>
#include <charconv>
#include <utility>

#include "support/transport.hpp"

namespace seriatim::handlers {

namespace {

namespace http = boost::beast::http;
using Kind = HttpFailure::Kind;

constexpr std::size_t answer_body_bytes_max = 64 << 10;
constexpr unsigned interim_answers_max = 8;

bool is_success(int status) {
  return status >= 200 && status < 300;
}
// 101 ends HTTP on this connection, so it is not an interim answer.
bool is_interim(int status) {
  return status >= 100 && status < 200 && status != 101;
}

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

// "timeout=5, max=100"
std::chrono::seconds keep_alive_seconds(std::string_view value) {
  constexpr std::string_view name = "timeout=";
  const auto at = value.find(name);
  unsigned seconds = 0;
  if (at == std::string_view::npos) return {};
  value.remove_prefix(at + name.size());
  std::from_chars(value.data(), value.data() + value.size(), seconds);
  return std::chrono::seconds(seconds);
}

bool is_of_http(const HttpAnswerReader::Error& error) {
  return error.category() == http::make_error_code(http::error::bad_version).category();
}

}  // namespace

void HttpAnswerReader::begin() {
  buffer_.clear();
  interim_ = 0;
  answered_ = ended_ = complete_ = has_bare_line_ = unreadable_ = false;
  problem_.clear();
  first_bytes_.clear();
  expect_head();
}

void HttpAnswerReader::expect_head() {
  parser_.emplace();
  parser_->header_limit(2 * head_bytes_max);  // make_strict adds a byte a line, at most
  parser_->body_limit(boost::none);           // capped by the room for it
  line_ = 0;
}

std::string_view HttpAnswerReader::buffered() const {
  return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
}

void HttpAnswerReader::end(std::string problem) {
  ended_ = true;
  problem_ = std::move(problem);
}
void HttpAnswerReader::end_unreadable(std::string problem) {
  unreadable_ = true;
  end(std::move(problem));
}

/// The receiver may have closed the connection in good order. If it does so within an answer, the
/// next request is likely to get the same, so the answer counts as unreadable.
void HttpAnswerReader::failed(const Error& error) {
  if (ended_) return;
  if (is_of_http(error)) return end_unreadable(error.message());
  const bool within = error == boost::asio::error::eof && buffer_.size() > 0;
  if (within) return end_unreadable("connection closed within the answer's head");
  end(text_of(error));
}

void HttpAnswerReader::body_ended(const Error& error) {
  complete_ = !error;
  const bool is_cut = error == http::error::need_buffer;  // over the cap: the status is what counts
  if (complete_ || is_cut) return end({});
  if (error == http::error::buffer_overflow) {
    return end_unreadable("a line of the answer has no end");
  }
  failed(error);
}

/// False: it takes more bytes.
bool HttpAnswerReader::parse_head() {
  if (!may_begin_answer(buffered())) {
    end_unreadable("no HTTP status line");
    return true;
  }
  const auto size = head_size(buffered(), line_);
  if ((size > 0 ? size : buffer_.size()) > head_bytes_max) {
    end_unreadable("the answer's head is over 16 KiB");
    return true;
  }
  if (size == 0) return false;
  const auto raw = buffered().substr(0, size);
  make_strict(raw, head_);
  first_bytes_.append(raw);
  buffer_.consume(size);
  has_bare_line_ |= head_.has_bare_line;
  Error error;
  parser_->put(boost::asio::buffer(head_.text), error);
  if (error) {
    end_unreadable(error.message());
  } else {
    on_head();
  }
  return true;
}

void HttpAnswerReader::on_head() {
  if (is_interim(status()) && ++interim_ <= interim_answers_max) return expect_head();
  if (is_interim(status())) return end_unreadable("too many interim answers");
  answered_ = true;
  if (parser_->is_done()) {
    complete_ = true;
    return end({});
  }
  if (!body_) body_ = std::make_unique_for_overwrite<char[]>(answer_body_bytes_max);
  parser_->get().body().data = body_.get();
  parser_->get().body().size = answer_body_bytes_max;
  parser_->get().body().more = true;
}

bool HttpAnswerReader::says_no() const {
  return answered_ ? !is_success(status()) : ended_;
}

Exchange HttpAnswerReader::judge(const Sending& sending) {
  Exchange out;
  out.untouched = !sending.any && !answered_ && interim_ == 0 && buffer_.size() == 0;
  out.result = result(sending);
  out.reusable = std::holds_alternative<HttpAnswer>(out.result) && complete_ && sending.whole &&
                 interim_ == 0 && !has_bare_line_ && buffer_.size() == 0 && parser_->keep_alive();
  if (answered_) out.keep_alive = keep_alive_seconds(view(parser_->get()["Keep-Alive"]));
  return out;
}

HttpResult HttpAnswerReader::result(const Sending& sending) {
  if (!answered_) {
    if (sending.whole) return no_answer(problem_);
    return HttpFailure{Kind::not_sent, sending.problem.empty() ? problem_ : sending.problem};
  }
  if (is_success(status()) && (!problem_.empty() || !sending.whole)) {
    return no_answer(
        "HTTP " + std::to_string(status()) +
        (problem_.empty() ? " before the whole request was sent" : ", then: " + problem_));
  }
  return HttpAnswer{status(), std::string(view(parser_->get()["Retry-After"])), body()};
}

HttpFailure HttpAnswerReader::no_answer(std::string why) const {
  if (!unreadable_) return {Kind::lost, std::move(why)};
  auto received = first_bytes_ + body();
  received.append(buffered());
  received.resize(std::min(received.size(), head_bytes_max));
  return {Kind::unreadable, std::move(why), std::move(received)};
}

std::string HttpAnswerReader::body() const {
  if (!answered_ || !parser_->get().body().data) return {};
  return {body_.get(), answer_body_bytes_max - parser_->get().body().size};
}

}  // namespace seriatim::handlers
