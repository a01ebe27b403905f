#include "console/host_rule.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>

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

}  // namespace

HostVerdict judge_host(std::string_view header, std::string_view local,
                       const std::vector<std::string>& hosts) {
  const auto name = name_of(header);
  const bool odd = name.empty() || name.find_first_of("@/?#\\ \t,") != std::string_view::npos;
  if (odd) return HostVerdict::malformed;
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(std::string(name), no_address);
  if (!no_address) {
    return address == boost::asio::ip::make_address(std::string(local), no_address)
               ? HostVerdict::ours
               : HostVerdict::foreign;
  }
  const auto wanted = lower(name);
  const bool ours = wanted == "localhost" || std::any_of(hosts.begin(), hosts.end(), [&](auto& h) {
                      return lower(h) == wanted;
                    });
  return ours ? HostVerdict::ours : HostVerdict::foreign;
}

}  // namespace seriatim::console
