#include "console/tls_context.hpp"

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>

#include "seriatim/error.hpp"

namespace seriatim::console {

namespace {

namespace ssl = boost::asio::ssl;

std::shared_ptr<ssl::context> read(const Certificate& certificate) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  const std::string* reading = &certificate.file;
  try {
    ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    context->use_certificate_chain_file(certificate.file);
    reading = &certificate.key_file;
    context->use_private_key_file(certificate.key_file, ssl::context::pem);
  } catch (const boost::system::system_error& error) {
    throw Error(*reading + ": cannot be used for TLS (" + error.code().message() +
                "); console.tls_certificate and console.tls_key name PEM files that belong "
                "together");
  }
  return context;
}

}  // namespace

TlsContext::TlsContext(Certificate certificate, Warn warn)
    : certificate_(std::move(certificate)),
      warn_(std::move(warn)),
      stamp_(stamp()),
      context_(read(certificate_)) {}

TlsContext::Stamp TlsContext::stamp() const {
  std::error_code gone;
  return {std::filesystem::last_write_time(certificate_.file, gone),
          std::filesystem::last_write_time(certificate_.key_file, gone)};
}

std::shared_ptr<ssl::context> TlsContext::current() {
  const auto now = stamp();
  if (now == stamp_) return context_;
  try {
    context_ = read(certificate_);
    stamp_ = now;
  } catch (const Error& error) {
    if (warn_ && now != warned_at_) warn_(std::string(error.what()) + "; the former ones stay");
    warned_at_ = now;
  }
  return context_;
}

}  // namespace seriatim::console
