#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/error.hpp>
#include <cerrno>
#include <map>
#include <mutex>

#include "seriatim/error.hpp"
#include "support/readiness.hpp"
#include "support/transport.hpp"

namespace seriatim::handlers {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ip = boost::asio::ip;
using Clock = std::chrono::steady_clock;
using Kind = HttpFailure::Kind;

HttpFailure not_sent(const Url& url, const std::string& what) {
  return {Kind::not_sent, url.origin() + ": " + what};
}

std::string connect_text(const beast::error_code& error) {
  const bool late = error == beast::error::timeout || error == asio::error::timed_out;
  return late ? "no connection in time" : error.message();
}

// Each address gets its share of what is left, so that a dead first one does not use it all up.
Clock::time_point share(Clock::time_point deadline, std::size_t left) {
  const auto now = Clock::now();
  return now + std::max(deadline - now, Clock::duration::zero()) / static_cast<int>(left);
}

std::shared_ptr<asio::ssl::context> make_tls(const std::string& ca_file) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
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

/// One for all who trust the same authorities: the system's take milliseconds to read, and memory.
std::shared_ptr<asio::ssl::context> shared_tls(const std::string& ca_file) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<asio::ssl::context>> known;
  const std::scoped_lock lock(mutex);
  auto context = known[ca_file].lock();
  if (!context) known[ca_file] = context = make_tls(ca_file);
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

/// A connected socket, or why there is none.
Fd connect(const ip::tcp::endpoint& endpoint, Clock::time_point deadline,
           beast::error_code& error) {
  const auto failed = [&error](int code) {
    error = {code, asio::error::get_system_category()};
    return Fd();
  };
  Fd socket(::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                     IPPROTO_TCP));
  if (socket.get() < 0) return failed(errno);
  if (::connect(socket.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) {
    if (errno != EINPROGRESS) return failed(errno);
    if (wait_for_events(socket.get(), POLLOUT, deadline) == 0) return failed(ETIMEDOUT);
  }
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) return failed(code);
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  error = {};
  return socket;
}

}  // namespace

class Dialer::Impl {
 public:
  explicit Impl(std::string ca_file) : ca_file_(std::move(ca_file)) {}

  /// `make` makes of a stream what comes of it.
  template <class Connection, class Make>
  Opened<Connection> dial(const Url& url, const std::vector<std::string>& addresses,
                          Clock::time_point deadline, Make make) {
    const auto port = static_cast<unsigned short>(std::stoi(url.port));
    beast::error_code error = beast::error::timeout;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const ip::tcp::endpoint endpoint(ip::make_address(addresses[i], error), port);
      if (error) continue;
      auto socket = connect(endpoint, share(deadline, addresses.size() - i), error);
      if (error) continue;
      PlainStream tcp(io_, std::move(socket));
      tcp.expires_at(deadline);
      if (!url.tls) return make(std::move(tcp));
      if (!tls_) tls_ = shared_tls(ca_file_);
      TlsStream stream(std::move(tcp), *tls_);
      if (auto failure = shake_hands(url, stream)) return *std::move(failure);
      return make(std::move(stream));
    }
    return not_sent(url, connect_text(error));
  }

 private:
  static std::optional<HttpFailure> shake_hands(const Url& url, TlsStream& stream) {
    auto* ssl = stream.native_handle();
    expect_peer(ssl, url);
    beast::error_code error;
    stream.handshake(asio::ssl::stream_base::client, error);
    if (!error) return std::nullopt;
    if (certificate_failed(ssl)) {
      const auto* why = X509_verify_cert_error_string(SSL_get_verify_result(ssl));
      return HttpFailure{Kind::refused, url.origin() + ": certificate refused: " + why};
    }
    return not_sent(url, "TLS: " + connect_text(error));
  }

  std::string ca_file_;
  asio::io_context io_{1};
  std::shared_ptr<asio::ssl::context> tls_;
};

Dialer::Dialer(std::string ca_file) : impl_(std::make_unique<Impl>(std::move(ca_file))) {}

Dialer::~Dialer() = default;

Opened<HttpConnection> Dialer::dial(const Url& url, const std::vector<std::string>& addresses,
                                    Clock::time_point deadline) {
  return impl_->dial<HttpConnection>(url, addresses, deadline, [](auto stream) {
    return make_http_connection(std::move(stream));
  });
}

Opened<ByteStream> Dialer::open(const Url& url, const std::vector<std::string>& addresses,
                                Clock::time_point deadline) {
  return impl_->dial<ByteStream>(url, addresses, deadline,
                                 [](auto stream) { return make_byte_stream(std::move(stream)); });
}

}  // namespace seriatim::handlers
