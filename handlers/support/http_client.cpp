#include "support/http_client.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "support/connection.hpp"
#include "support/header_text.hpp"

namespace seriatim::handlers {

namespace {

std::string head_of(const HttpRequest& request) {
  std::string head = "POST " + request.url.target + " HTTP/1.1\r\n";
  head += "Host: " + request.url.host_field + "\r\n";
  for (const auto& [name, value] : request.headers) {
    check_header(name, value);
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  return head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n\r\n";
}

// Closed by the receiver, or bytes nobody asked for: either way not to be trusted with a request.
bool is_quiet(PlainStream& tcp) {
  char byte = 0;
  const auto n = ::recv(tcp.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

class HttpClient::Impl {
 public:
  explicit Impl(HttpClientConfig config) : config_(std::move(config)), connector_(io_, config_) {}

  HttpResult post(const HttpRequest& request, Clock::time_point deadline) {
    const auto head = head_of(request);
    auto connection = take_kept(request.url);
    if (connection) {
      auto tried = exchange(io_, *connection, head, request.body, deadline);
      if (!tried.untouched || Clock::now() >= deadline) return keep(std::move(connection), tried);
    }
    auto opened = connector_.connect(request.url, deadline);
    if (auto* failure = std::get_if<HttpFailure>(&opened)) return std::move(*failure);
    connection = std::get<ConnectionPtr>(std::move(opened));
    auto done = exchange(io_, *connection, head, request.body, deadline);
    return keep(std::move(connection), done);
  }

 private:
  ConnectionPtr take_kept(const Url& url) {
    auto kept = std::exchange(kept_, nullptr);
    const bool usable = kept && same_origin(kept->url, url) && Clock::now() < kept->usable_until &&
                        is_quiet(kept->tcp());
    return usable ? std::move(kept) : nullptr;
  }

  HttpResult keep(ConnectionPtr connection, Exchange& exchange) {
    if (exchange.reusable) {
      // A second less than the receiver promises: its clock started before ours.
      std::chrono::milliseconds idle = config_.idle_max;
      if (exchange.keep_alive.count() > 0) {
        idle = std::min<std::chrono::milliseconds>(idle,
                                                   exchange.keep_alive - std::chrono::seconds(1));
      }
      connection->usable_until = Clock::now() + idle;
      kept_ = std::move(connection);
    }
    return std::move(exchange.result);
  }

  const HttpClientConfig config_;
  asio::io_context io_{1};
  Connector connector_;
  ConnectionPtr kept_;
};

HttpClient::HttpClient(HttpClientConfig config)
    : impl_(std::make_unique<Impl>(std::move(config))) {}

HttpClient::~HttpClient() = default;

HttpResult HttpClient::post(const HttpRequest& request, Clock::time_point deadline) {
  return impl_->post(request, deadline);
}

}  // namespace seriatim::handlers
