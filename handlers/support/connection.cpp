#include "support/connection.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/read.hpp>
#include <charconv>
#include <optional>

#include "seriatim/error.hpp"

namespace seriatim::handlers {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ip = boost::asio::ip;
using Clock = std::chrono::steady_clock;
using Kind = HttpFailure::Kind;
using Parser = http::response_parser<http::buffer_body>;
using PlainStream = beast::tcp_stream;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

PlainStream& tcp_of(PlainStream& stream) {
  return stream;
}
PlainStream& tcp_of(TlsStream& stream) {
  return stream.next_layer();
}

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

bool has_nothing_to_read(PlainStream& stream) {
  char byte = 0;
  const auto socket = stream.socket().native_handle();
  const auto n = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
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

template <class Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(asio::io_context& io, Stream stream) : io_(io), stream_(std::move(stream)) {}

  Exchange exchange(std::string_view head, std::string_view body,
                    Clock::time_point deadline) override {
    tcp_of(stream_).expires_at(deadline);
    Talk talk(stream_, head, body);
    talk.start();
    io_.restart();
    io_.run();
    return talk.judge();
  }

  bool is_quiet() override { return has_nothing_to_read(tcp_of(stream_)); }

 private:
  asio::io_context& io_;
  Stream stream_;
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

  bool is_quiet() override { return has_nothing_to_read(tcp_of(stream_)); }

 private:
  asio::io_context& io_;
  Stream stream_;
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

  /// `Made<Stream>` is what comes of it, `Result` either that or why there is none.
  template <template <class> class Made, class Result>
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
      return std::make_unique<Made<PlainStream>>(io_, std::move(tcp));
    }
    return not_sent(url, connect_text(error));
  }

 private:
  template <template <class> class Made, class Result>
  Result shake_hands(const Url& url, PlainStream tcp, Clock::time_point deadline) {
    if (!tls_) tls_ = make_tls(ca_file_);
    TlsStream stream(std::move(tcp), *tls_);
    auto* ssl = stream.native_handle();
    expect_peer(ssl, url);
    stream.next_layer().expires_at(deadline);
    const auto error = run_step(io_, [&](auto done) {
      stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
    });
    if (!error) return std::make_unique<Made<TlsStream>>(io_, std::move(stream));
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
  return impl_->dial<StreamConnection, Dialled>(url, addresses, deadline);
}

Opened Dialer::open(const Url& url, const std::vector<std::string>& addresses,
                    Clock::time_point deadline) {
  return impl_->dial<StreamOfBytes, Opened>(url, addresses, deadline);
}

}  // namespace seriatim::handlers
