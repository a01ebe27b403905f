#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>

#include "support/http_answer.hpp"
#include "support/transport.hpp"

namespace seriatim::handlers {

namespace {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using Message = http::request<http::span_body<const char>>;

Message message_of(const HttpRequest& request, bool closes) {
  Message message(http::verb::post, request.url.target, 11);
  message.insert(http::field::host, request.url.host_field);
  if (closes) message.insert(http::field::connection, "close");
  for (const auto& [name, value] : request.headers.all()) message.insert(name, value);
  message.body() = {request.body.data(), request.body.size()};
  message.content_length(request.body.size());
  return message;
}

template <class Stream>
class ConnectionOver final : public HttpConnection {
 public:
  explicit ConnectionOver(Stream stream) : stream_(std::move(stream)) {}

  Exchange post(const HttpRequest& request, bool closes, Clock::time_point deadline) override {
    auto& tcp = tcp_of(stream_);
    tcp.expires_at(deadline);
    tcp.listen(true);
    answer_.begin();
    const auto message = message_of(request, closes);
    const auto sending = send(message);
    DeadlineStream::Error error;
    if (answer_.read_head(stream_, error)) {
      answer_.read_body(stream_);
    } else {
      answer_.failed(error);
    }
    return answer_.judge(sending);
  }

  bool is_quiet() override { return is_quiet_stream(stream_); }

 private:
  /// As far as the receiver takes it, and does not say no.
  Sending send(const Message& message) {
    auto& tcp = tcp_of(stream_);
    http::request_serializer<http::span_body<const char>> serializer(message);
    Sending sending;
    DeadlineStream::Error error;
    while (!error && !sending.whole) {
      if (serializer.is_done()) {
        (void)tcp.flush(error);
      } else {
        sending.any |= http::write_some(stream_, serializer, error) > 0;
      }
      sending.whole = !error && serializer.is_done() && tcp.is_flushed();
      if (!error && tcp.peer_spoke() && hears_no()) return sending;
    }
    if (error) sending.problem = text_of(error);
    return sending;
  }

  /// What the receiver says while the request is on its way.
  bool hears_no() {
    auto& tcp = tcp_of(stream_);
    DeadlineStream::Error error;
    tcp.wait(false);
    if (answer_.has_head() || answer_.read_head(stream_, error)) answer_.read_ahead(stream_, error);
    tcp.wait(true);
    if (error == boost::asio::error::would_block) return answer_.says_no();
    tcp.listen(false);  // it will say nothing more, or the rest waits until the request is sent
    if (error && !answer_.has_head()) answer_.failed(error);
    return answer_.says_no();
  }

  Stream stream_;
  HttpAnswerReader answer_;
};

}  // namespace

std::vector<Header> headers_of(const HttpRequest& request, bool closes) {
  std::vector<Header> headers;
  for (const auto& field : message_of(request, closes)) {
    headers.emplace_back(field.name_string(), field.value());
  }
  return headers;
}

std::unique_ptr<HttpConnection> make_http_connection(PlainStream stream) {
  return std::make_unique<ConnectionOver<PlainStream>>(std::move(stream));
}
std::unique_ptr<HttpConnection> make_http_connection(TlsStream stream) {
  return std::make_unique<ConnectionOver<TlsStream>>(std::move(stream));
}

}  // namespace seriatim::handlers
