#pragma once

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/answer_head.hpp"
#include "support/connection.hpp"

namespace seriatim::handlers {

/// How a request went.
struct Sending {
  bool any = false;     ///< a byte of it left
  bool whole = false;   ///< all of it did
  std::string problem;  ///< empty: none, or the answer says more
};

/// The answer to one request after another, and what became of the exchange. Interim answers are
/// passed over, a body is kept up to 64 KiB. Beast parses; the head is made strict before, because
/// some senders end lines in LF alone or leave the reason phrase out (answer_head.hpp).
class HttpAnswerReader {
 public:
  using Error = boost::system::error_code;

  void begin();  ///< of the next answer

  /// Reads the head of the final answer. False: the answer has ended, or `error` says why its head
  /// is not there yet.
  template <class Stream>
  bool read_head(Stream& stream, Error& error) {
    error = {};
    while (!answered_ && !ended_) {
      if (buffer_.size() > 0 && parse_head()) continue;
      buffer_.commit(stream.read_some(buffer_.prepare(head_bytes_max), error));
      if (error) return false;
    }
    return !ended_;
  }
  /// Reads the body to its end, to the cap, or to an error.
  template <class Stream>
  void read_body(Stream& stream) {
    Error error;
    boost::beast::http::read(stream, buffer_, *parser_, error);
    body_ended(error);
  }
  /// Reads what it can of the body without parsing it.
  template <class Stream>
  void read_ahead(Stream& stream, Error& error) {
    error = {};
    while (!error && buffer_.size() < ahead_bytes_max) {
      const auto room = ahead_bytes_max - buffer_.size();
      buffer_.commit(stream.read_some(buffer_.prepare(room), error));
    }
  }
  /// Nothing more will come.
  void failed(const Error& error);

  [[nodiscard]] bool has_head() const { return answered_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// No further byte of the request could turn it into success. An early "yes" is not believed yet.
  [[nodiscard]] bool says_no() const;

  [[nodiscard]] Exchange judge(const Sending& sending);

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

  static constexpr std::size_t head_bytes_max = 16 << 10;
  static constexpr std::size_t ahead_bytes_max = 64 << 10;

  void expect_head();
  bool parse_head();
  void on_head();
  void body_ended(const Error& error);
  void end(std::string problem);
  void end_unreadable(std::string problem);
  [[nodiscard]] int status() const { return static_cast<int>(parser_->get().result_int()); }
  [[nodiscard]] std::string_view buffered() const;
  [[nodiscard]] std::string body() const;
  HttpResult result(const Sending& sending);
  [[nodiscard]] HttpFailure no_answer(std::string why) const;

  /// Chunk extensions and trailers have no limit of the parser's.
  boost::beast::flat_buffer buffer_{ahead_bytes_max + head_bytes_max};
  std::size_t line_ = 0;     ///< see head_size
  StrictHead head_;          ///< kept from answer to answer for its memory's sake
  std::string first_bytes_;  ///< the heads as they came, for people
  std::optional<Parser> parser_;
  std::unique_ptr<char[]> body_;  ///< kept from answer to answer; not touched if there is none
  unsigned interim_ = 0;
  bool answered_ = false;  ///< a final head was read
  bool ended_ = false;
  bool complete_ = false;  ///< and its whole body
  bool has_bare_line_ = false;
  bool unreadable_ = false;  ///< it ended because of what came, not because nothing more did
  std::string problem_;
};

}  // namespace seriatim::handlers
