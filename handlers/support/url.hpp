#pragma once

#include <string>
#include <string_view>

namespace seriatim::handlers {

/// An http or https URL, taken apart and judged safe to put into a request.
struct Url {
  enum class HostKind { name, address };

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

}  // namespace seriatim::handlers
