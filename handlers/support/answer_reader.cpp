#include "support/answer_reader.hpp"

#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "support/answer_head.hpp"

namespace seriatim::handlers {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Kind = HttpFailure::Kind;
using Parser = http::response_parser<http::buffer_body>;

constexpr std::size_t answer_body_bytes_max = 64 << 10;
constexpr std::size_t chunk_bytes_max = 64 << 10;
constexpr std::uint32_t answer_head_bytes_max = 16 << 10;
constexpr unsigned interim_answers_max = 8;

bool is_success(int status) {
  return status >= 200 && status < 300;
}
// 101 ends HTTP on this connection, so it is not an interim answer.
bool is_interim(int status) {
  return status >= 100 && status < 200 && status != 101;
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

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

class AnswerReader::Impl {
 public:
  void begin() {
    buffer_.clear();
    interim_ = 0;
    answered_ = ended_ = complete_ = has_bare_line_ = unreadable_ = false;
    problem_.clear();
    first_bytes_.clear();
    expect_head();
  }

  std::span<char> room() {
    const auto place = buffer_.prepare(beast::read_size(buffer_, chunk_bytes_max));
    return {static_cast<char*>(place.data()), place.size()};
  }

  void arrived(std::size_t bytes) {
    buffer_.commit(bytes);
    keep_first(buffered().substr(buffer_.size() - bytes));
    while (!ended_ && buffer_.size() > 0 && (answered_ ? parse_body() : parse_head())) {
    }
    if (!ended_ && buffer_.size() == buffer_.max_size()) {
      end_unreadable("a line of the answer has no end");
    }
  }

  /// The receiver closed the connection in good order. If it does so within an answer, the next
  /// request is likely to get the same, so the answer counts as unreadable.
  void closed() {
    if (ended_) return;
    if (!answered_ && buffer_.size() == 0) return end("connection closed");
    if (!answered_) return end_unreadable("connection closed within the answer's head");
    beast::error_code error;
    parser_->put_eof(error);
    if (error) return end_unreadable(error.message());
    complete();
  }

  void complete() {
    complete_ = true;
    end({});
  }

  void end(std::string problem) {
    ended_ = true;
    problem_ = std::move(problem);
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool says_no() const {
    return ended_ && (!problem_.empty() || !is_success(status()));
  }

  Exchange judge(const Sending& sending) {
    Exchange out;
    out.untouched = !sending.any && !answered_ && interim_ == 0 && buffer_.size() == 0;
    out.result = result(sending);
    out.reusable = std::holds_alternative<HttpAnswer>(out.result) && complete_ && sending.whole &&
                   interim_ == 0 && !has_bare_line_ && buffer_.size() == 0 && parser_->keep_alive();
    if (answered_) out.keep_alive = keep_alive_seconds(view(parser_->get()["Keep-Alive"]));
    return out;
  }

 private:
  void expect_head() {
    parser_.emplace();
    parser_->header_limit(2 * answer_head_bytes_max);  // make_strict adds a byte a line, at most
    parser_->body_limit(boost::none);                  // capped by the room for it
    line_ = 0;
  }

  [[nodiscard]] std::string_view buffered() const {
    return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
  }

  void keep_first(std::string_view bytes) {
    first_bytes_.append(bytes.substr(0, answer_head_bytes_max - first_bytes_.size()));
  }

  void end_unreadable(std::string problem) {
    unreadable_ = true;
    end(std::move(problem));
  }

  /// False: it takes more bytes.
  bool parse_head() {
    if (!may_begin_answer(buffered())) {
      end_unreadable("no HTTP status line");
      return true;
    }
    const auto size = head_size(buffered(), line_);
    if ((size > 0 ? size : buffer_.size()) > answer_head_bytes_max) {
      end_unreadable("the answer's head is over 16 KiB");
      return true;
    }
    if (size == 0) return false;
    make_strict(buffered().substr(0, size), head_);
    buffer_.consume(size);
    has_bare_line_ |= head_.has_bare_line;
    beast::error_code error;
    parser_->put(boost::asio::buffer(head_.text), error);
    if (error) {
      end_unreadable(error.message());
    } else {
      on_head();
    }
    return true;
  }

  /// False: it takes more bytes.
  bool parse_body() {
    beast::error_code error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == http::error::need_more) return false;
    if (error == http::error::need_buffer) {
      end({});  // a body over the cap is cut, which is no fault: the status is what counts
    } else if (error) {
      end_unreadable(error.message());
    } else if (parser_->is_done()) {
      complete();
    }
    return true;
  }

  void on_head() {
    if (is_interim(status()) && ++interim_ <= interim_answers_max) return expect_head();
    if (is_interim(status())) return end_unreadable("too many interim answers");
    answered_ = true;
    if (parser_->is_done()) return complete();
    if (!body_) body_ = std::make_unique_for_overwrite<char[]>(answer_body_bytes_max);
    parser_->eager(true);
    parser_->get().body().data = body_.get();
    parser_->get().body().size = answer_body_bytes_max;
    parser_->get().body().more = true;
  }

  [[nodiscard]] int status() const { return static_cast<int>(parser_->get().result_int()); }

  HttpResult result(const Sending& sending) {
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

  [[nodiscard]] HttpFailure no_answer(std::string why) const {
    if (!unreadable_) return {Kind::lost, std::move(why)};
    return {Kind::unreadable, std::move(why), first_bytes_};
  }

  [[nodiscard]] std::string body() const {
    const auto& part = parser_->get().body();
    if (part.data == nullptr) return {};
    return {body_.get(), answer_body_bytes_max - part.size};
  }

  /// Chunk extensions and trailers have no limit of the parser's.
  beast::flat_buffer buffer_{chunk_bytes_max + answer_head_bytes_max};
  std::size_t line_ = 0;     ///< see head_size
  StrictHead head_;          ///< kept from answer to answer for its memory's sake
  std::string first_bytes_;  ///< of what came, for people
  std::optional<Parser> parser_;
  std::unique_ptr<char[]> body_;  ///< kept from answer to answer; not touched where there is none
  unsigned interim_ = 0;
  bool answered_ = false;  ///< a final head was read
  bool ended_ = false;
  bool complete_ = false;  ///< and its whole body
  bool has_bare_line_ = false;
  bool unreadable_ = false;  ///< it ended because of what came, not because nothing more did
  std::string problem_;
};

AnswerReader::AnswerReader() : impl_(std::make_unique<Impl>()) {}
AnswerReader::~AnswerReader() = default;

void AnswerReader::begin() {
  impl_->begin();
}
std::span<char> AnswerReader::room() {
  return impl_->room();
}
void AnswerReader::arrived(std::size_t bytes) {
  impl_->arrived(bytes);
}
void AnswerReader::closed() {
  impl_->closed();
}
void AnswerReader::failed(const std::string& why) {
  if (!ended()) impl_->end(why);
}
bool AnswerReader::ended() const {
  return impl_->ended();
}
bool AnswerReader::says_no() const {
  return impl_->says_no();
}
Exchange AnswerReader::judge(const Sending& sending) {
  return impl_->judge(sending);
}

}  // namespace seriatim::handlers
