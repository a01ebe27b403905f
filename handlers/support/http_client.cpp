#include "support/http_client.hpp"

#include <algorithm>
#include <utility>

#include "support/connector.hpp"

namespace seriatim::handlers {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

class HttpClient::Impl {
 public:
  explicit Impl(HttpClientConfig config) : config_(std::move(config)), connector_(config_) {}

  HttpResult post(const HttpRequest& request, Clock::time_point deadline) {
    if (auto kept = take_kept(request.url)) {
      auto tried = kept->post(request, !config_.keep_alive, deadline);
      if (!tried.untouched || Clock::now() >= deadline) return finish(std::move(kept), tried);
    }
    auto dialled = connector_.connect(request.url, deadline);
    if (auto* failure = std::get_if<HttpFailure>(&dialled)) return std::move(*failure);
    auto connection = std::get<ConnectionPtr>(std::move(dialled));
    auto exchange = connection->post(request, !config_.keep_alive, deadline);
    kept_url_ = request.url;
    return finish(std::move(connection), exchange);
  }

 private:
  using ConnectionPtr = std::unique_ptr<HttpConnection>;

  ConnectionPtr take_kept(const Url& url) {
    auto kept = std::exchange(kept_, nullptr);
    const bool usable =
        kept && same_origin(kept_url_, url) && Clock::now() < kept_until_ && kept->is_quiet();
    return usable ? std::move(kept) : nullptr;
  }

  HttpResult finish(ConnectionPtr connection, Exchange& exchange) {
    if (config_.keep_alive && exchange.reusable) {
      kept_ = std::move(connection);
      kept_until_ = Clock::now() + idle_time(exchange);
    }
    return std::move(exchange.result);
  }

  [[nodiscard]] std::chrono::milliseconds idle_time(const Exchange& exchange) const {
    if (exchange.keep_alive.count() == 0) return config_.idle_max;
    // A second less than the receiver promises: its clock started before ours.
    return std::min<std::chrono::milliseconds>(config_.idle_max,
                                               exchange.keep_alive - std::chrono::seconds(1));
  }

  const HttpClientConfig config_;
  Connector connector_;
  ConnectionPtr kept_;
  Url kept_url_;  ///< where the last connection led to
  Clock::time_point kept_until_;
};

HttpClient::HttpClient(HttpClientConfig config)
    : impl_(std::make_unique<Impl>(std::move(config))) {}

HttpClient::~HttpClient() = default;

HttpResult HttpClient::post(const HttpRequest& request, Clock::time_point deadline) {
  return impl_->post(request, deadline);
}

}  // namespace seriatim::handlers
