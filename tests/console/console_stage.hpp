// A console with a desk of the tests' own, and clients that write what they like.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "console/api.hpp"
#include "console/fake_desk.hpp"
#include "console/http_server.hpp"
#include "console/page_files.hpp"

namespace seriatim::testing {

struct Reply {
  unsigned status = 0;
  std::string head;
  std::string body;

  /// The value of a header, empty if absent.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

inline Reply reply_of(const std::string& text) {
  Reply reply;
  if (text.size() > 12) reply.status = static_cast<unsigned>(std::stoul(text.substr(9, 3)));
  const auto end = text.find("\r\n\r\n");
  reply.head = text.substr(0, end == std::string::npos ? end : end + 2);
  if (end != std::string::npos) reply.body = text.substr(end + 4);
  return reply;
}

/// A request to be changed by a test: what a page of the console sends.
struct Ask {
  std::string method = "GET";
  std::string target = "/";
  std::map<std::string, std::string> headers{};
  std::string body{};

  static Ask get(std::string target) { return {"GET", std::move(target), {}, {}}; }
  static Ask post(std::string target, std::string body, const std::string& token = {}) {
    Ask ask{"POST", std::move(target), {}, std::move(body)};
    ask.headers = {{"Content-Type", "application/json"},
                   {"Seriatim-Console", "1"},
                   {"Sec-Fetch-Site", "same-origin"}};
    return token.empty() ? ask : ask.with("Authorization", "Bearer " + token);
  }
  [[nodiscard]] Ask with(const std::string& name, const std::string& value) const {
    auto changed = *this;
    changed.headers[name] = value;
    return changed;
  }
  [[nodiscard]] Ask without(const std::string& name) const {
    auto changed = *this;
    changed.headers.erase(name);
    return changed;
  }
  [[nodiscard]] std::string text() const {
    auto text = method + ' ' + target + " HTTP/1.1\r\nConnection: close\r\n";
    if (!headers.contains("Host")) text += "Host: localhost\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    if (method != "GET" && method != "HEAD") {
      text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return text + "\r\n" + body;
  }
};

/// One connection over TCP or a unix socket.
template <class Protocol>
class BasicClient {
 public:
  explicit BasicClient(const typename Protocol::endpoint& place) { socket_.connect(place); }
  BasicClient(const typename Protocol::endpoint& place, const typename Protocol::endpoint& from) {
    socket_.open(place.protocol());
    socket_.bind(from);
    socket_.connect(place);
  }

  void send(const std::string& text) {
    boost::system::error_code refused;  // the server may have closed already
    boost::asio::write(socket_, boost::asio::buffer(text), refused);
  }
  /// Until the server closes.
  std::string rest() {
    boost::system::error_code ended;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text_), ended);
    return std::exchange(text_, {});
  }
  /// Up to the mark; what follows stays for the next.
  std::string until(const std::string& mark) {
    const auto bytes = boost::asio::read_until(socket_, boost::asio::dynamic_buffer(text_), mark);
    const auto part = text_.substr(0, bytes);
    text_.erase(0, bytes);
    return part;
  }
  void close() { socket_.close(); }

 private:
  std::unique_ptr<boost::asio::io_context> io_ = std::make_unique<boost::asio::io_context>();
  typename Protocol::socket socket_{*io_};
  std::string text_;
};
using TcpClient = BasicClient<boost::asio::ip::tcp>;
using UnixClient = BasicClient<boost::asio::local::stream_protocol>;

/// `from`: the address it comes from, one of this machine's.
inline TcpClient client_of(const console::HttpServer& server, const char* from = "127.0.0.1") {
  using boost::asio::ip::make_address;
  const boost::asio::ip::tcp::endpoint here(make_address(from), 0);
  return TcpClient({make_address("127.0.0.1"), server.port()}, here);
}

inline const std::string alice_token = "alice-token-alice-token";
inline const std::string victor_token = "victor-token-victor-token";

/// Alice may act, Victor may read.
inline std::vector<console::User> users() {
  return {{"alice", console::Role::operator_, alice_token},
          {"victor", console::Role::viewer, victor_token}};
}

inline console::Access::Settings all_users() {
  return {users()};
}
/// No token is configured.
inline console::Access::Settings nobody() {
  return {};
}

class ConsoleStage {
 public:
  explicit ConsoleStage(console::Access::Settings access_settings = all_users(),
                        console::HttpServer::Settings settings = {})
      : access(over_socket(std::move(access_settings), settings)),
        api(desk, access,
            {.version = "1",
             .relay = "host:1",
             .redact =
                 [](std::string text) {
                   const auto at = text.find("canary");
                   return at == std::string::npos ? text : text.replace(at, 6, "***");
                 },
             .interval = std::chrono::milliseconds(20)}) {
    settings.identify = [this](const console::HttpRequest& request) {
      return access.identify(request);
    };
    settings.gate = [this](const console::HttpRequest& request) { return access.refuse(request); };
    auto routes = api.routes();
    auto page = console::page_routes();
    routes.insert(routes.end(), std::make_move_iterator(page.begin()),
                  std::make_move_iterator(page.end()));
    routes.push_back({"/livez", [](const console::HttpRequest&) {
                        return console::HttpResponse{200, "all threads turn\n"};
                      }});
    routes.push_back({"/metrics", [](const console::HttpRequest&) {
                        return console::HttpResponse{200, "# none\n"};
                      }});
    server = std::make_unique<console::HttpServer>(std::move(settings), std::move(routes));
  }

  [[nodiscard]] Reply ask(const Ask& request, const char* from = "127.0.0.1") const {
    return raw(request.text(), from);
  }
  [[nodiscard]] Reply raw(const std::string& text, const char* from = "127.0.0.1") const {
    auto client = client_of(*server, from);
    client.send(text);
    return reply_of(client.rest());
  }
  [[nodiscard]] Reply retry(const std::string& token = alice_token) const {
    return ask(Ask::post("/api/v1/processes/p/acts", R"({"act":"retry"})", token));
  }

  static console::Access::Settings over_socket(console::Access::Settings access,
                                               const console::HttpServer::Settings& server) {
    access.over_socket = !server.unix_path.empty();
    return access;
  }

  FakeDesk desk;
  console::Access access;
  console::Api api;
  std::unique_ptr<console::HttpServer> server;
};

}  // namespace seriatim::testing
