#include "lab/http/wire.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace seriatim::lab {

namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio memory(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

TlsContext make_tls_context(const std::string& certificate, const std::string& key,
                            int version_max) {
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (version_max != 0) {
    // Old versions are signed with SHA-1, which level 1 and above refuse.
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), version_max);
    SSL_CTX_set_max_proto_version(context.get(), version_max);
  }
  const auto certificate_text = memory(certificate);
  const auto key_text = memory(key);
  std::unique_ptr<X509, decltype(&X509_free)> x509(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr), X509_free);
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pkey(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  if (SSL_CTX_use_certificate(context.get(), x509.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), pkey.get()) != 1) {
    throw std::runtime_error("the HTTP service's certificate cannot be used");
  }
  return context;
}

Wire::Wire(Fd socket, SSL_CTX* tls)
    : socket_(std::move(socket)), ssl_(tls ? SSL_new(tls) : nullptr, SSL_free) {
  if (ssl_) SSL_set_fd(ssl_.get(), socket_.get());
}

bool Wire::accept() {
  return !ssl_ || SSL_accept(ssl_.get()) == 1;
}

bool Wire::read_more(std::string& buffer) {
  const auto n = ssl_ ? SSL_read(ssl_.get(), heard_.data(), static_cast<int>(heard_.size()))
                      : ::recv(socket_.get(), heard_.data(), heard_.size(), 0);
  if (n <= 0) return false;
  buffer.append(heard_.data(), static_cast<std::size_t>(n));
  return true;
}

bool Wire::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                        : ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool Wire::write_together(std::string_view first, std::string_view second) {
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
  const bool written = write(first) && write(second);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_CORK, &off, sizeof off);
  return written;
}

void Wire::finish() {
  if (ssl_) SSL_shutdown(ssl_.get());
  ::shutdown(socket_.get(), SHUT_WR);
}

void Wire::reset_on_close() {
  const linger abort{1, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
}

bool Wire::wait(std::chrono::milliseconds time) const {
  pollfd end{socket_.get(), POLLRDHUP, 0};
  return ::poll(&end, 1, static_cast<int>(time.count())) == 0;
}

void Wire::wait_for_end() const {
  pollfd end{socket_.get(), POLLRDHUP, 0};
  ::poll(&end, 1, -1);
}

}  // namespace seriatim::lab
