#include "support/transport.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

namespace seriatim::handlers {

namespace asio = boost::asio;

std::string text_of(const DeadlineStream::Error& error) {
  if (error == asio::error::timed_out) return "no answer in time";
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return "connection closed";
  }
  return error.message();
}

bool is_quiet_stream(const PlainStream& stream) {
  return stream.is_quiet();
}

// What came in one segment with the last answer is no longer in the socket: OpenSSL holds it,
// decrypted or not.
bool is_quiet_stream(TlsStream& stream) {
  auto* ssl = stream.native_handle();
  return SSL_has_pending(ssl) == 0 && BIO_pending(SSL_get_rbio(ssl)) == 0 &&
         stream.next_layer().is_quiet();
}

}  // namespace seriatim::handlers
