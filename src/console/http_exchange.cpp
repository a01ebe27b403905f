#include "console/http_exchange.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>

#include "console/host_rule.hpp"

namespace seriatim::console {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr const char* content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

void set_guards(HttpAnswer& answer) {
  answer.set(http::field::cache_control, "no-store");
  answer.set("Content-Security-Policy", content_security_policy);
  answer.set("X-Content-Type-Options", "nosniff");
  answer.set("X-Frame-Options", "DENY");
  answer.set("Referrer-Policy", "no-referrer");
  answer.set("Cross-Origin-Opener-Policy", "same-origin");
  answer.set("Cross-Origin-Resource-Policy", "same-origin");
}

std::string in_lower_case(std::string text) {
  for (auto& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

}  // namespace

HttpRequest request_of(const RequestParser& parser, const Connection& connection) {
  const auto& message = parser.get();
  const std::string_view target(message.target().data(), message.target().size());
  const auto mark = target.find('?');
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = std::string(target.substr(0, mark));
  if (mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
  request.accept = std::string(message[http::field::accept]);
  request.authorization = std::string(message[http::field::authorization]);
  request.peer = connection.peer;
  request.peer_uid = connection.peer_uid;
  request.encrypted = connection.wire.is_encrypted();
  for (const auto& field : message) {
    const std::string value(field.value());
    const auto [place, fresh] =
        request.headers.emplace(in_lower_case(std::string(field.name_string())), value);
    if (!fresh) place->second += '\n' + value;
  }
  return request;
}

std::optional<HttpResponse> refusal_of(const boost::system::error_code& error, bool late,
                                       const std::string& path) {
  if (late && error != http::error::end_of_stream) {
    return refusal(path, 408, "the request took too long");
  }
  if (error == http::error::end_of_stream || error == asio::error::connection_reset ||
      error == asio::error::operation_aborted || error == http::error::partial_message) {
    return std::nullopt;
  }
  if (error == http::error::header_limit) return refusal(path, 431, "the header is too long");
  if (error == http::error::body_limit) return refusal(path, 413, "the body is too long");
  return refusal(path, 400, "this is no HTTP request: " + error.message());
}

std::optional<HttpResponse> refuse_host(const RequestParser& parser, const std::string& local,
                                        const std::vector<std::string>& hosts) {
  const auto& message = parser.get();
  const std::string path(message.target());
  const auto given = message.equal_range(http::field::host);
  if (std::distance(given.first, given.second) != 1) {
    return refusal(path, 400, "one Host header is due");
  }
  const auto host = given.first->value();
  switch (judge_host({host.data(), host.size()}, local, hosts)) {
    case HostVerdict::malformed: return refusal(path, 400, "the Host header is malformed");
    case HostVerdict::foreign:
      return refusal(path, 403, "this Host is not ours", "name it in console.hosts if it is");
    case HostVerdict::ours: break;
  }
  return std::nullopt;
}

FoundRoute route_of(const std::vector<HttpRoute>& routes, const HttpRequest& request) {
  FoundRoute found;
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const auto& route : routes) {
    auto values = match(route.path, request.path);
    if (!values) continue;
    found.pattern = route.path;
    found.methods.push_back(route.method);
    if (route.method != method) continue;
    found.route = &route;
    found.values = std::move(*values);
    break;
  }
  return found;
}

HttpResponse refuse_route(const HttpRequest& request, const FoundRoute& found) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (found.methods.empty() || reads) return refusal(request.path, 404, "there is nothing here");
  std::string allowed;
  for (const auto& method : found.methods) {
    allowed += (allowed.empty() ? "" : ", ") + (method == "GET" ? "GET, HEAD" : method);
  }
  auto response = refusal(request.path, 405, "only " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

HttpResponse call(const HttpRoute& route, const HttpRequest& request) {
  try {
    return route.respond(request);
  } catch (const std::exception& error) {
    return refusal(request.path, 500, error.what());
  }
}

HttpAnswer answer_of(const HttpResponse& response, bool head, bool keeps) {
  HttpAnswer answer(static_cast<http::status>(response.status), 11);
  answer.set(http::field::content_type, response.content_type);
  set_guards(answer);
  for (const auto& [name, value] : response.headers) answer.set(name, value);
  answer.keep_alive(keeps);
  answer.content_length(response.body.size());
  if (!head) answer.body() = response.body;
  return answer;
}

std::string head_of_stream() {
  HttpAnswer answer(http::status::ok, 11);
  answer.set(http::field::content_type, "text/event-stream");
  set_guards(answer);
  answer.set("X-Accel-Buffering", "no");
  answer.keep_alive(false);
  std::ostringstream text;
  text << answer.base();
  return text.str();
}

}  // namespace seriatim::console
