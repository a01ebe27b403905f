#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <string_view>

#include "support/http_answer.hpp"

namespace seriatim::testing {

using handlers::HttpAnswerReader;

/// Gives a text in pieces of this size, then its end: a SyncReadStream.
struct AnswerPieces {
  std::string_view text;
  std::size_t piece;

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, HttpAnswerReader::Error& error) {
    error = {};
    const auto size = boost::asio::buffer_copy(buffers, boost::asio::buffer(text.substr(0, piece)));
    if (text.empty()) error = boost::asio::error::eof;
    text.remove_prefix(size);
    return size;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    HttpAnswerReader::Error error;
    return read_some(buffers, error);
  }
};

}  // namespace seriatim::testing
