#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/read.hpp>
#include <charconv>
#include <optional>

#include "support/connection.hpp"

namespace seriatim::handlers {

namespace {

namespace http = boost::beast::http;
using Kind = HttpFailure::Kind;
using Parser = http::response_parser<http::buffer_body>;

constexpr std::size_t answer_body_bytes_max = 64 << 10;
constexpr std::uint32_t answer_head_bytes_max = 16 << 10;
constexpr unsigned interim_answers_max = 8;

bool is_success(int status) {
  return status >= 200 && status < 300;
}
// 101 ends HTTP on this connection, so it is not an interim answer.
bool is_interim(int status) {
  return status >= 100 && status < 200 && status != 101;
}

std::string text_of(const beast::error_code& error) {
  if (error == beast::error::timeout) return "no answer in time";
  if (error == asio::error::eof || error == http::error::end_of_stream ||
      error == asio::ssl::error::stream_truncated) {
    return "connection closed";
  }
  if (error == http::error::header_limit) return "the answer's head is over 16 KiB";
  return error.message();
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

/// Both directions of one exchange. Lives until io.run() returns.
template <class Stream>
class Talk {
 public:
  Talk(Stream& stream, std::string_view head, std::string_view body)
      : stream_(stream), head_(head), body_(body), answer_body_(answer_body_bytes_max, '\0') {}

  void start() {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head_), asio::buffer(body_)};
    asio::async_write(stream_, parts, [this](beast::error_code error, std::size_t bytes) {
      writing_ = false;
      write_error_ = error;
      bytes_written_ = bytes;
    });
    read_head();
  }

  Exchange judge() {
    Exchange out;
    out.untouched = bytes_written_ == 0 && !answered_ && !interim_ && buffer_.size() == 0;
    out.result = result();
    out.reusable = std::holds_alternative<HttpAnswer>(out.result) && complete_ && sent() &&
                   interim_ == 0 && buffer_.size() == 0 && parser_->keep_alive();
    if (answered_) out.keep_alive = keep_alive_seconds(view(parser_->get()["Keep-Alive"]));
    return out;
  }

 private:
  void read_head() {
    parser_.emplace();
    parser_->header_limit(answer_head_bytes_max);
    parser_->body_limit(boost::none);  // capped by the room for it
    http::async_read_header(stream_, buffer_, *parser_,
                            [this](beast::error_code error, std::size_t) { on_head(error); });
  }

  void on_head(beast::error_code error) {
    if (error) return end_reading(error);
    if (is_interim(status()) && ++interim_ <= interim_answers_max) return read_head();
    if (is_interim(status())) return end_reading(http::error::bad_status);
    answered_ = true;
    parser_->get().body().data = answer_body_.data();
    parser_->get().body().size = answer_body_.size();
    parser_->get().body().more = true;
    http::async_read(stream_, buffer_, *parser_,
                     [this](beast::error_code e, std::size_t) { end_reading(e); });
  }

  void end_reading(beast::error_code error) {
    complete_ = !error;
    // A body over the cap is cut, which is no fault: the status is what counts.
    const bool over_cap = error == http::error::need_buffer;
    read_error_ = over_cap ? beast::error_code() : error;
    // An early "no" makes the rest of the request pointless; an early "yes" is not believed yet.
    if (writing_ && (read_error_ || !is_success(status()))) tcp_of(stream_).cancel();
  }

  [[nodiscard]] int status() { return static_cast<int>(parser_->get().result_int()); }
  [[nodiscard]] bool sent() const { return !write_error_ && !writing_; }

  HttpResult result() {
    if (!answered_) {
      if (!sent()) return HttpFailure{Kind::not_sent, text_of(earlier_error())};
      return HttpFailure{Kind::lost, text_of(read_error_)};
    }
    const auto said = "HTTP " + std::to_string(status());
    if (is_success(status()) && read_error_) {
      return HttpFailure{Kind::lost, said + ", then: " + text_of(read_error_)};
    }
    if (is_success(status()) && !sent()) {
      return HttpFailure{Kind::lost, said + " before the whole request was sent"};
    }
    answer_body_.resize(answer_body_.size() - parser_->get().body().size);
    return HttpAnswer{status(), std::string(view(parser_->get()["Retry-After"])),
                      std::move(answer_body_)};
  }

  // A cancelled write says nothing; then the reading end knows.
  [[nodiscard]] beast::error_code earlier_error() const {
    return write_error_ && write_error_ != asio::error::operation_aborted ? write_error_
                                                                          : read_error_;
  }

  Stream& stream_;
  std::string_view head_;
  std::string_view body_;

  bool writing_ = true;
  beast::error_code write_error_;
  std::size_t bytes_written_ = 0;

  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::string answer_body_;
  unsigned interim_ = 0;
  bool answered_ = false;  ///< a final head was read
  bool complete_ = false;  ///< and its whole body
  beast::error_code read_error_;
};

}  // namespace

Exchange exchange(asio::io_context& io, Connection& connection, std::string_view head,
                  std::string_view body, Clock::time_point deadline) {
  return std::visit(
      [&](auto& stream) {
        tcp_of(stream).expires_at(deadline);
        Talk talk(stream, head, body);
        talk.start();
        io.restart();
        io.run();
        return talk.judge();
      },
      connection.stream);
}

}  // namespace seriatim::handlers
