#include "support/url.hpp"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <cctype>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::size_t url_bytes_max = 8192;
constexpr std::size_t host_bytes_max = 253;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_host_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return text;
}

// "2130706433", "0x7f.1", "127.1": resolvers read such names as IPv4 addresses, people do not.
bool ends_in_number(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  const auto label = host.substr(host.rfind('.') + 1);
  return !label.empty() &&
         (label.starts_with("0x") || std::all_of(label.begin(), label.end(), is_digit));
}

std::string checked_name(const std::string& host) {
  if (host.empty()) throw CannotRender("the URL names no host");
  if (host.size() > host_bytes_max || host.starts_with('.') ||
      host.find("..") != std::string::npos ||
      !std::all_of(host.begin(), host.end(), is_host_char)) {
    throw CannotRender("the URL's host is not a valid name");
  }
  if (ends_in_number(host)) {
    throw CannotRender("the URL's host is a number; write addresses as 192.0.2.1");
  }
  return host;
}

bool is_http(std::string_view scheme) {
  return scheme == "http" || scheme == "https";
}

void take_host(const boost::urls::url_view& view, Url& url) {
  switch (view.host_type()) {
    case boost::urls::host_type::ipv4:
    case boost::urls::host_type::ipv6:
      // A zone ("fe80::1%25eth0") is an interface of this machine; Boost.URL takes it from 1.82 on.
      if (view.encoded_host().find('%') != std::string_view::npos) {
        throw CannotRender("the URL's address names a zone");
      }
      url.host_kind = Url::HostKind::address;
      url.host = lower(view.host_address());
      return;
    case boost::urls::host_type::name:
      url.host = checked_name(lower(std::string(view.encoded_host())));
      return;
    default: throw CannotRender("the URL's host is neither a name nor an address");
  }
}

void take_port(const boost::urls::url_view& view, Url& url, std::string_view fallback) {
  url.port = fallback;
  if (!view.has_port() || view.port().empty()) return;
  if (view.port_number() == 0) throw CannotRender("the URL's port is not between 1 and 65535");
  url.port = std::to_string(view.port_number());
}

// Boost.URL 1.81 takes "http://1.2.3.4.5/" for host 1.2.3.4 and path ".5/".
void check_path(const boost::urls::url_view& view) {
  if (view.encoded_path().empty() || view.encoded_path().starts_with('/')) return;
  throw CannotRender("the URL's host or port is not valid");
}

/// Host, port and what is made of them; scheme and tls are there already.
void take_place(const boost::urls::url_view& view, Url& url, std::string_view default_port) {
  check_path(view);
  take_host(view, url);
  take_port(view, url, default_port);
  url.host_field = url.host.find(':') == std::string::npos ? url.host : '[' + url.host + ']';
  if (url.port != default_port) url.host_field += ':' + url.port;
}

}  // namespace

std::string Url::name() const {
  return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

std::string Url::origin() const {
  return scheme + "://" + host_field;
}

Url parse_url(std::string_view text) {
  if (text.size() > url_bytes_max) throw CannotRender("the URL is over 8192 bytes");
  const auto parsed = boost::urls::parse_uri({text.data(), text.size()});
  if (!parsed || !parsed->has_authority()) throw CannotRender("not a valid http or https URL");
  const boost::urls::url_view& view = *parsed;
  const auto scheme = lower(std::string(view.scheme()));
  if (!is_http(scheme)) throw CannotRender("only http and https URLs are allowed");
  if (view.has_userinfo()) {
    throw CannotRender("the URL holds a user name; use username and password instead");
  }
  if (view.has_fragment()) throw CannotRender("the URL holds a fragment (#…), which is never sent");
  Url url;
  url.scheme = scheme;
  url.tls = scheme == "https";
  take_place(view, url, url.tls ? "443" : "80");
  const auto target = view.encoded_target();
  url.target = std::string(target.data(), target.size());
  if (!url.target.starts_with('/')) url.target.insert(0, 1, '/');
  return url;
}

ServiceUrl parse_service_url(std::string_view text, const ServiceScheme& scheme) {
  const std::string form = std::string(scheme.plain) + "://[user:password@]host[:port]";
  if (text.size() > url_bytes_max) throw CannotRender("the URL is over 8192 bytes");
  const auto parsed = boost::urls::parse_uri({text.data(), text.size()});
  if (!parsed || !parsed->has_authority()) throw CannotRender("must have the form " + form);
  const boost::urls::url_view& view = *parsed;
  ServiceUrl url;
  url.place.scheme = lower(std::string(view.scheme()));
  url.place.tls = url.place.scheme == scheme.tls;
  if (!url.place.tls && url.place.scheme != scheme.plain) {
    throw CannotRender("must begin with " + std::string(scheme.plain) + ":// or " +
                       std::string(scheme.tls) + "://");
  }
  if (view.has_query() || view.has_fragment()) {
    throw CannotRender("must not hold a query or a fragment");
  }
  const bool own_tls_port = url.place.tls && !scheme.tls_port.empty();
  take_place(view, url.place, own_tls_port ? scheme.tls_port : scheme.port);
  url.user = view.user();
  url.password = view.password();
  url.path = view.path();
  if (!url.path.empty()) url.path.erase(0, 1);
  return url;
}

}  // namespace seriatim::handlers
