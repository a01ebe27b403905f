#include "lab/demo/sms_provider.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse_query.hpp>
#include <map>
#include <thread>

namespace seriatim::app {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

namespace {

struct Inbox {
  mutable std::mutex mutex;
  std::vector<SmsProvider::Message> accepted;
  std::size_t refused = 0;
};

std::map<std::string, std::string> form_of(const std::string& body) {
  std::map<std::string, std::string> fields;
  const auto parsed = boost::urls::parse_query(body);
  if (!parsed) return fields;
  boost::urls::encoding_opts plus_is_space;
  plus_is_space.space_as_plus = true;
  for (const auto& field : *parsed) {
    fields[field.key.decode(plus_is_space)] = field.value.decode(plus_is_space);
  }
  return fields;
}

Response answer(const Request& request, Inbox& inbox) {
  auto fields = form_of(request.body());
  const std::scoped_lock guard(inbox.mutex);
  Response response{http::status::created, request.version()};
  response.set(http::field::content_type, "application/json");
  if (fields["To"].starts_with(SmsProvider::unknown_numbers)) {
    inbox.refused += 1;
    response.result(http::status::bad_request);
    response.body() =
        R"({"code": 21211, "message": "The 'To' number is not a valid phone number.", "status": 400})";
  } else {
    inbox.accepted.push_back({std::string(request["Idempotency-Key"]),
                              std::string(request["Seriatim-Sequence"]), fields["To"],
                              fields["Body"]});
    response.body() =
        R"({"sid": "SM)" + std::to_string(inbox.accepted.size()) + R"(", "status": "queued"})";
  }
  response.keep_alive(request.keep_alive());
  response.prepare_payload();
  return response;
}

/// One connection: read, answer, again.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Inbox& inbox) : stream_(std::move(socket)), inbox_(inbox) {}

  void read() {
    request_ = {};
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    response_ = answer(request_, inbox_);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (!error && self->response_.keep_alive()) self->read();
                      });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  Request request_;
  Response response_;
  Inbox& inbox_;
};

}  // namespace

struct SmsProvider::Impl {
  Inbox inbox;
  asio::io_context context;
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  std::jthread thread;

  void accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error) return;
      std::make_shared<Session>(std::move(socket), inbox)->read();
      accept();
    });
  }
};

SmsProvider::SmsProvider() : impl_(std::make_unique<Impl>()) {
  impl_->accept();
  impl_->thread = std::jthread([this] { impl_->context.run(); });
}

SmsProvider::~SmsProvider() {
  impl_->context.stop();
}

std::string SmsProvider::url() const {
  return "http://127.0.0.1:" + std::to_string(impl_->acceptor.local_endpoint().port()) +
         "/Messages.json";
}

std::vector<SmsProvider::Message> SmsProvider::accepted() const {
  const std::scoped_lock guard(impl_->inbox.mutex);
  return impl_->inbox.accepted;
}

std::size_t SmsProvider::refused() const {
  const std::scoped_lock guard(impl_->inbox.mutex);
  return impl_->inbox.refused;
}

}  // namespace seriatim::app
