#include "postgres/wire/network_bounds.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace seriatim::postgres {

namespace {

// A half-open connection is noticed within 10 + 3·5 s, unanswered data within 15 s.
constexpr std::array<std::string_view, 6> network_bounds{
    "connect_timeout=10",    "keepalives=1",       "keepalives_idle=10",
    "keepalives_interval=5", "keepalives_count=3", "tcp_user_timeout=15000"};

/// Where the query of a URL begins. libpq takes what comes before an '@' for user and password, if
/// no '/' comes first: a '?' in there is a part of them.
std::size_t query_of(const std::string& url) {
  const auto authority = url.find("://") + 3;
  const auto stop = url.find_first_of("@/", authority);
  const bool has_user = stop != std::string::npos && url[stop] == '@';
  return url.find('?', has_user ? stop : authority);
}

}  // namespace

std::string with_network_bounds(const std::string& url) {
  const bool uri = url.rfind("postgres://", 0) == 0 || url.rfind("postgresql://", 0) == 0;
  const auto query = uri ? query_of(url) : std::string::npos;
  std::string out = uri ? url.substr(0, query) : std::string();
  char separator = '?';
  for (const auto bound : network_bounds) {
    if (uri) out += std::exchange(separator, '&');
    out += bound;
    if (!uri) out += ' ';
  }
  if (!uri) return out + url;
  return query == std::string::npos ? out : out + '&' + url.substr(query + 1);
}

}  // namespace seriatim::postgres
