#include "support/connection.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "seriatim/error.hpp"
#include "support/answer_reader.hpp"
#include "support/plain_connection.hpp"

namespace seriatim::handlers {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ip = boost::asio::ip;
using Clock = std::chrono::steady_clock;
using Kind = HttpFailure::Kind;
using PlainStream = beast::tcp_stream;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

PlainStream& tcp_of(PlainStream& stream) {
  return stream;
}
PlainStream& tcp_of(TlsStream& stream) {
  return stream.next_layer();
}

bool is_quiet_stream(PlainStream& stream) {
  return has_nothing_to_read(stream.socket().native_handle());
}
// What came in one segment with the last answer is no longer in the socket: OpenSSL holds it,
// decrypted or not.
bool is_quiet_stream(TlsStream& stream) {
  auto* ssl = stream.native_handle();
  return SSL_has_pending(ssl) == 0 && BIO_pending(SSL_get_rbio(ssl)) == 0 &&
         is_quiet_stream(stream.next_layer());
}

std::string text_of(const beast::error_code& error) {
  if (error == beast::error::timeout) return "no answer in time";
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return "connection closed";
  }
  return error.message();
}

/// Both directions of one exchange. Lives until io.run() returns.
class Talk {
 public:
  Talk(TlsStream& stream, AnswerReader& answer) : stream_(stream), answer_(answer) {}

  void start(std::string_view head, std::string_view body) {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head), asio::buffer(body)};
    asio::async_write(stream_, parts, [this](beast::error_code error, std::size_t bytes) {
      writing_ = false;
      sending_.any = bytes > 0;
      sending_.whole = !error;
      // A cancelled write says nothing; then the reading end knows.
      if (error && error != asio::error::operation_aborted) sending_.problem = text_of(error);
    });
    answer_.begin();
    read();
  }

  [[nodiscard]] const Sending& sending() const { return sending_; }

 private:
  void read() {
    const auto room = answer_.room();
    stream_.async_read_some(asio::buffer(room.data(), room.size()),
                            [this](beast::error_code error, std::size_t bytes) {
                              answer_.arrived(bytes);
                              if (error == asio::error::eof) answer_.closed();
                              if (error) answer_.failed(text_of(error));
                              if (!answer_.ended()) return read();
                              if (writing_ && answer_.says_no()) tcp_of(stream_).cancel();
                            });
  }

  TlsStream& stream_;
  AnswerReader& answer_;
  bool writing_ = true;
  Sending sending_;
};

class TlsConnection final : public Connection {
 public:
  TlsConnection(asio::io_context& io, TlsStream stream) : io_(io), stream_(std::move(stream)) {}

  Exchange exchange(std::string_view head, std::string_view body,
                    Clock::time_point deadline) override {
    tcp_of(stream_).expires_at(deadline);
    Talk talk(stream_, answer_);
    talk.start(head, body);
    io_.restart();
    io_.run();
    return answer_.judge(talk.sending());
  }

  bool is_quiet() override { return is_quiet_stream(stream_); }

 private:
  asio::io_context& io_;
  TlsStream stream_;
  AnswerReader answer_;
};

/// Writes and reads at once until the reader has all. Lives until io.run() returns.
template <class Stream>
class Dialogue {
 public:
  Dialogue(Stream& stream, std::string_view bytes, const ByteStream::Take& take)
      : stream_(stream), bytes_(bytes), take_(take) {}

  void start() {
    asio::async_write(stream_, asio::buffer(bytes_), [this](beast::error_code error, std::size_t) {
      writing_ = false;
      write_error_ = error;
    });
    read();
  }

  /// A receiver that hangs up breaks both ways; then the reading end knows more.
  [[nodiscard]] std::string problem() const {
    if (complete_ && !writing_ && !write_error_) return {};
    return text_of(complete_ || !read_error_ ? write_error_ : read_error_);
  }

 private:
  void read() {
    stream_.async_read_some(asio::buffer(arrived_),
                            [this](beast::error_code error, std::size_t size) {
                              if (error) return end(error);
                              complete_ = take_({arrived_.data(), size});
                              if (!complete_) return read();
                              end({});
                            });
  }
  // An answer to what was not yet sent is none we know.
  void end(beast::error_code error) {
    read_error_ = error;
    if (writing_) tcp_of(stream_).cancel();
  }

  Stream& stream_;
  std::string_view bytes_;
  const ByteStream::Take& take_;
  std::array<char, 16 << 10> arrived_{};
  bool writing_ = true;
  bool complete_ = false;
  beast::error_code write_error_;
  beast::error_code read_error_;
};

template <class Stream>
class StreamOfBytes final : public ByteStream {
 public:
  StreamOfBytes(asio::io_context& io, Stream stream) : io_(io), stream_(std::move(stream)) {}

  std::string talk(std::string_view bytes, const Take& take, Clock::time_point deadline) override {
    tcp_of(stream_).expires_at(deadline);
    Dialogue dialogue(stream_, bytes, take);
    dialogue.start();
    io_.restart();
    io_.run();
    return dialogue.problem();
  }

  bool is_quiet() override { return is_quiet_stream(stream_); }

 private:
  asio::io_context& io_;
  Stream stream_;
};

struct MadeConnection {
  static Dialled of(asio::io_context&, PlainStream stream) {
    return make_plain_connection(Fd(stream.release_socket().release()));
  }
  static Dialled of(asio::io_context& io, TlsStream stream) {
    return std::make_unique<TlsConnection>(io, std::move(stream));
  }
};

struct MadeByteStream {
  template <class Stream>
  static Opened of(asio::io_context& io, Stream stream) {
    return std::make_unique<StreamOfBytes<Stream>>(io, std::move(stream));
  }
};

// --- opening ------------------------------------------------------------------------------------

HttpFailure not_sent(const Url& url, const std::string& what) {
  return {Kind::not_sent, url.origin() + ": " + what};
}

std::string connect_text(const beast::error_code& error) {
  return error == beast::error::timeout ? "no connection in time" : error.message();
}

// Each address gets its share of what is left, so that a dead first one does not use it all up.
Clock::time_point share(Clock::time_point deadline, std::size_t left) {
  const auto now = Clock::now();
  return now + std::max(deadline - now, Clock::duration::zero()) / static_cast<int>(left);
}

std::unique_ptr<asio::ssl::context> make_tls(const std::string& ca_file) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_verify_mode(asio::ssl::verify_peer);
  beast::error_code error;
  if (ca_file.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(ca_file, error);
  }
  if (error) throw Error("ca_file " + ca_file + " cannot be read: " + error.message());
  return context;
}

// Without these the certificate of any host would do, so a failure ends the call.
void expect_peer(SSL* ssl, const Url& url) {
  if (url.host_kind == Url::HostKind::address) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), url.host.c_str()) == 1) return;
    throw Error(url.origin() + ": the certificate could not be checked for this address");
  }
  const auto name = url.name();
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(ssl, name.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) {
    throw Error(url.origin() + ": the certificate could not be checked for this name");
  }
}

// Not read from the error: a wrong signature puts other entries before "verify failed".
bool certificate_failed(const SSL* ssl) {
  return SSL_get_verify_result(ssl) != X509_V_OK;
}

/// Starts one asynchronous operation and runs it to its end on this thread.
template <class Start>
beast::error_code run_step(asio::io_context& io, Start start) {
  beast::error_code result = asio::error::operation_aborted;
  start([&result](beast::error_code error, auto&&...) { result = error; });
  io.restart();
  io.run();
  return result;
}

}  // namespace

class Dialer::Impl {
 public:
  explicit Impl(std::string ca_file) : ca_file_(std::move(ca_file)) {}

  /// `Made` makes of a stream what comes of it; `Result` is either that or why there is none.
  template <class Made, class Result>
  Result dial(const Url& url, const std::vector<std::string>& addresses,
              Clock::time_point deadline) {
    const auto port = static_cast<unsigned short>(std::stoi(url.port));
    beast::error_code error = beast::error::timeout;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      PlainStream tcp(io_);
      tcp.expires_at(share(deadline, addresses.size() - i));
      const ip::tcp::endpoint endpoint(ip::make_address(addresses[i], error), port);
      if (error) continue;
      error = run_step(io_, [&](auto done) { tcp.async_connect(endpoint, std::move(done)); });
      if (error) continue;
      tcp.socket().set_option(ip::tcp::no_delay(true), error);
      if (url.tls) return shake_hands<Made, Result>(url, std::move(tcp), deadline);
      return Made::of(io_, std::move(tcp));
    }
    return not_sent(url, connect_text(error));
  }

 private:
  template <class Made, class Result>
  Result shake_hands(const Url& url, PlainStream tcp, Clock::time_point deadline) {
    if (!tls_) tls_ = make_tls(ca_file_);
    TlsStream stream(std::move(tcp), *tls_);
    auto* ssl = stream.native_handle();
    expect_peer(ssl, url);
    stream.next_layer().expires_at(deadline);
    const auto error = run_step(io_, [&](auto done) {
      stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
    });
    if (!error) return Made::of(io_, std::move(stream));
    if (certificate_failed(ssl)) {
      const auto* why = X509_verify_cert_error_string(SSL_get_verify_result(ssl));
      return HttpFailure{Kind::refused, url.origin() + ": certificate refused: " + why};
    }
    return not_sent(url, "TLS: " + connect_text(error));
  }

  std::string ca_file_;
  asio::io_context io_{1};
  std::unique_ptr<asio::ssl::context> tls_;
};

Dialer::Dialer(std::string ca_file) : impl_(std::make_unique<Impl>(std::move(ca_file))) {}

Dialer::~Dialer() = default;

Dialled Dialer::dial(const Url& url, const std::vector<std::string>& addresses,
                     Clock::time_point deadline) {
  return impl_->dial<MadeConnection, Dialled>(url, addresses, deadline);
}

Opened Dialer::open(const Url& url, const std::vector<std::string>& addresses,
                    Clock::time_point deadline) {
  return impl_->dial<MadeByteStream, Opened>(url, addresses, deadline);
}

}  // namespace seriatim::handlers
