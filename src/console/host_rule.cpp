#include "console/host_rule.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <optional>

namespace seriatim::console {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// "example:8642", "[::1]:8642" without port and brackets; empty: it is neither.
std::string_view name_of(std::string_view header) {
  const bool bracket = header.starts_with('[');
  const auto end = bracket ? header.find(']') : header.find(':');
  if (bracket && end == std::string_view::npos) return {};
  const auto name = bracket ? header.substr(1, end - 1) : header.substr(0, end);
  const auto rest = end == std::string_view::npos ? "" : header.substr(end + (bracket ? 1 : 0));
  const bool port = rest.empty() || (rest.front() == ':' && rest.size() <= 6 &&
                                     std::all_of(rest.begin() + 1, rest.end(),
                                                 [](char c) { return c >= '0' && c <= '9'; }));
  return port ? name : std::string_view();
}

/// A socket that listens on all addresses sees an IPv4 client at ::ffff:10.0.0.5.
std::optional<boost::asio::ip::address> address_of(std::string_view text) {
  boost::system::error_code none;
  const auto address = boost::asio::ip::make_address(std::string(text), none);
  if (none) return std::nullopt;
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
}

}  // namespace

HostVerdict judge_host(std::string_view header, std::string_view local,
                       const std::vector<std::string>& hosts) {
  const auto name = lower(name_of(header));
  const bool odd = name.empty() || name.find_first_of("@/?#\\ \t,") != std::string::npos;
  if (odd) return HostVerdict::malformed;
  const bool configured = std::any_of(hosts.begin(), hosts.end(),
                                      [&](const auto& host) { return lower(host) == name; });
  const auto address = address_of(name);
  const bool ours = address ? address == address_of(local) : name == "localhost";
  return configured || ours ? HostVerdict::ours : HostVerdict::foreign;
}

}  // namespace seriatim::console
