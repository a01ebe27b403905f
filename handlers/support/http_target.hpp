#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "seriatim/options.hpp"
#include "seriatim/record.hpp"
#include "support/http_client.hpp"

namespace seriatim::handlers {

/// Where to POST and as whom: what every HTTP handler learns from its configuration.
struct HttpTarget {
  std::string url;                        ///< may hold tags in its path and query
  std::vector<Header> headers;            ///< sent with every request
  std::vector<std::string> pass_headers;  ///< copied from the record where it has them
  std::string username;                   ///< basic authentication, with `password`
  std::string password;
  std::string token;  ///< "Authorization: Bearer …"; not with `username`
  std::chrono::milliseconds timeout{
      0};  ///< for one request, in addition to the lane's deadline; 0: none
  HttpClientConfig client;
};

/// Reads url, headers, pass_headers, username, password, token, timeout, connect_timeout, ca_file,
/// allow_private and keep_alive, and notes what is wrong with them.
[[nodiscard]] HttpTarget read_http_target(Options& options);

}  // namespace seriatim::handlers
