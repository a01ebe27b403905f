#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <string>

#include "support/connection.hpp"
#include "support/deadline_stream.hpp"

namespace seriatim::handlers {

/// What connections are made of. Seen by the sources that make them alone.
using PlainStream = DeadlineStream;
using TlsStream = boost::asio::ssl::stream<DeadlineStream>;

inline DeadlineStream& tcp_of(PlainStream& stream) {
  return stream;
}
inline DeadlineStream& tcp_of(TlsStream& stream) {
  return stream.next_layer();
}

[[nodiscard]] bool is_quiet_stream(const PlainStream& stream);
[[nodiscard]] bool is_quiet_stream(TlsStream& stream);
[[nodiscard]] std::string text_of(const DeadlineStream::Error& error);

[[nodiscard]] std::unique_ptr<HttpConnection> make_http_connection(PlainStream stream);
[[nodiscard]] std::unique_ptr<HttpConnection> make_http_connection(TlsStream stream);
[[nodiscard]] std::unique_ptr<ByteStream> make_byte_stream(PlainStream stream);
[[nodiscard]] std::unique_ptr<ByteStream> make_byte_stream(TlsStream stream);

}  // namespace seriatim::handlers
