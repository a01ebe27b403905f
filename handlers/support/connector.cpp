#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "seriatim/error.hpp"
#include "support/address_policy.hpp"
#include "support/connection.hpp"

namespace seriatim::handlers {

namespace {

namespace ip = boost::asio::ip;
using Kind = HttpFailure::Kind;

HttpFailure not_sent(const Url& url, const std::string& what) {
  return {Kind::not_sent, url.origin() + ": " + what};
}

HttpFailure refused(const Url& url, const std::string& what) {
  return {Kind::refused, url.origin() + ": " + what};
}

HttpFailure refused_target(const Url& url, const std::string& what) {
  return refused(url, "leads to " + what + "; set allow_private = true if that is meant");
}

std::string text_of(const beast::error_code& error) {
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

void expect_peer(SSL* ssl, const Url& url) {
  if (url.host_kind == Url::HostKind::address) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), url.host.c_str());
    return;
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_set1_host(ssl, url.name().c_str());
  SSL_set_tlsext_host_name(ssl, url.name().c_str());
}

// Not read from the error: a wrong signature puts other entries before "verify failed".
bool certificate_failed(const SSL* ssl) {
  return SSL_get_verify_result(ssl) != X509_V_OK;
}

}  // namespace

Connector::Connector(asio::io_context& io, const HttpClientConfig& config)
    : io_(io), config_(config), resolver_(config.lookup) {}

asio::ssl::context& Connector::tls() {
  if (!tls_) tls_ = make_tls(config_.ca_file);
  return *tls_;
}

std::variant<ConnectionPtr, HttpFailure> Connector::connect(const Url& url,
                                                            Clock::time_point deadline) {
  deadline = std::min(deadline, Clock::now() + config_.connect_timeout);
  auto addresses = addresses_of(url, deadline);
  if (auto* failure = std::get_if<HttpFailure>(&addresses)) return std::move(*failure);
  return connect_any(url, std::get<Addresses>(addresses), deadline);
}

std::variant<Connector::Addresses, HttpFailure> Connector::addresses_of(
    const Url& url, Clock::time_point deadline) {
  if (const auto why = refusal_of_url(url); !why.empty() && !config_.allow_private) {
    return refused_target(url, why);
  }
  if (url.host_kind == Url::HostKind::address) return Addresses{url.host};
  auto result = resolver_.resolve(url.host, deadline);
  if (auto* failure = std::get_if<Resolver::Failure>(&result)) return not_sent(url, failure->what);
  auto addresses = std::get<Addresses>(std::move(result));
  if (config_.allow_private) return addresses;
  const auto why = refusal_of_address(addresses.front());
  std::erase_if(addresses,
                [](const auto& address) { return !refusal_of_address(address).empty(); });
  if (addresses.empty()) return refused_target(url, why);
  return addresses;
}

std::variant<ConnectionPtr, HttpFailure> Connector::connect_any(const Url& url,
                                                                const Addresses& addresses,
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
    if (url.tls) return shake_hands(url, std::move(tcp), deadline);
    return std::make_unique<Connection>(Connection{url, std::move(tcp)});
  }
  return not_sent(url, text_of(error));
}

std::variant<ConnectionPtr, HttpFailure> Connector::shake_hands(const Url& url, PlainStream tcp,
                                                                Clock::time_point deadline) {
  TlsStream stream(std::move(tcp), tls());
  auto* ssl = stream.native_handle();
  expect_peer(ssl, url);
  stream.next_layer().expires_at(deadline);
  const auto error = run_step(io_, [&](auto done) {
    stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
  });
  if (!error) return std::make_unique<Connection>(Connection{url, std::move(stream)});
  if (certificate_failed(ssl)) {
    return refused(url, std::string("certificate refused: ") +
                            X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
  }
  return not_sent(url, "TLS: " + text_of(error));
}

}  // namespace seriatim::handlers
