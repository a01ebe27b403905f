#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "console/http_connection.hpp"
#include "console/http_message.hpp"

namespace seriatim::console {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using HttpAnswer = boost::beast::http::response<boost::beast::http::string_body>;

/// What was read of a request so far.
[[nodiscard]] HttpRequest request_of(const RequestParser& parser, const Connection& connection);

/// What is wrong with a request that could not be read; nothing if the connection just ended.
/// `late`: it was not whole in time.
[[nodiscard]] std::optional<HttpResponse> refusal_of(const boost::system::error_code& error,
                                                     bool late, const std::string& path);

[[nodiscard]] std::optional<HttpResponse> refuse_host(const RequestParser& parser,
                                                      const std::string& local,
                                                      const std::vector<std::string>& hosts);

/// The route of a request.
struct FoundRoute {
  const HttpRoute* route = nullptr;  ///< none for this method
  std::string pattern;               ///< empty: the path is unknown
  std::map<std::string, std::string> values;
  std::vector<std::string> methods;  ///< those of the path
};
[[nodiscard]] FoundRoute route_of(const std::vector<HttpRoute>& routes, const HttpRequest& request);
/// The answer if there is none. What can only be posted does not exist for GET.
[[nodiscard]] HttpResponse refuse_route(const HttpRequest& request, const FoundRoute& found);

[[nodiscard]] HttpResponse call(const HttpRoute& route, const HttpRequest& request);

/// With the headers that keep a browser from doing anything with it but what is meant.
[[nodiscard]] HttpAnswer answer_of(const HttpResponse& response, bool head, bool keeps);
/// What an event stream begins with. It has no length: it ends with the connection.
[[nodiscard]] std::string head_of_stream();

}  // namespace seriatim::console
