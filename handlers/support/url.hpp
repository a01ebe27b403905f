#pragma once

#include <string>
#include <string_view>

namespace seriatim::handlers {

/// Where a receiver is: an http or https URL, taken apart and judged safe to put into a request, or
/// the place of another service (parse_service_url).
struct Url {
  enum class HostKind { name, address };

  std::string scheme;  ///< lower case
  bool tls = false;
  HostKind host_kind = HostKind::name;
  std::string host;          ///< lower case, IPv6 without brackets
  std::string port;          ///< "80", "443", "8080"
  std::string host_field;    ///< the Host header: brackets kept, default port left out
  std::string target = "/";  ///< path and query, encoded as given

  /// The host without the dot that may end it.
  [[nodiscard]] std::string name() const;
  /// "https://example.com:8443": fit for messages, since paths and queries may hold secrets.
  [[nodiscard]] std::string origin() const;

  friend bool same_origin(const Url& a, const Url& b) {
    return a.tls == b.tls && a.host == b.host && a.port == b.port;
  }
};

/// Throws CannotRender; the message does not quote the URL.
[[nodiscard]] Url parse_url(std::string_view text);

/// The schemes of a service that is not HTTP, and the ports it has where the URL names none.
struct ServiceScheme {
  std::string_view plain;          ///< "amqp"
  std::string_view tls;            ///< "amqps"
  std::string_view port;           ///< "5672"
  std::string_view tls_port = {};  ///< "5671"; empty: the same
};

/// `redis://user:password@host:port/path`
struct ServiceUrl {
  Url place;
  std::string user;  ///< decoded, as is the password
  std::string password;
  std::string path;  ///< decoded, without its first slash
};

/// Throws CannotRender; the message does not quote the URL. A query or fragment is refused.
[[nodiscard]] ServiceUrl parse_service_url(std::string_view text, const ServiceScheme& scheme);

}  // namespace seriatim::handlers
