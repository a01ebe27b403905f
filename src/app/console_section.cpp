#include "app/console_section.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace seriatim::app {

namespace {

constexpr std::size_t token_bytes_min = 20;

/// "127.0.0.1:8642", "[::1]:8642"
std::optional<ListenPlace> parse_place(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  auto address = text.substr(0, colon);
  const bool bracketed = address.starts_with('[') && address.ends_with(']');
  if (bracketed) address = address.substr(1, address.size() - 2);
  boost::system::error_code wrong;
  const auto parsed = boost::asio::ip::make_address(address, wrong);
  if (wrong || parsed.is_v6() != bracketed) return std::nullopt;
  ListenPlace place{address, 0};
  const auto* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + colon + 1, end, place.port);
  if (error != std::errc() || last != end || place.port == 0) return std::nullopt;
  return place;
}

std::optional<ListenPlace> read_place(Options& section, const char* key, std::string fallback) {
  const auto text = section.text(key, std::move(fallback));
  auto place = parse_place(text);
  if (!place) {
    section.problem(key, '"' + text +
                             "\" is no place to listen on; give an address and a port, such as "
                             "\"127.0.0.1:8642\" or \"[::1]:8642\"");
  }
  return place;
}

bool is_loopback(const ListenPlace& place) {
  return boost::asio::ip::make_address(place.address).is_loopback();
}

}  // namespace

ConsoleConfig read_console(Options section, Secrets& secrets) {
  ConsoleConfig console;
  console.token = section.text("token");
  if (section.has("token")) secrets.learn(console.token);
  if (section.has("token") && console.token.size() < token_bytes_min) {
    section.problem("token", "must have at least 20 characters; `openssl rand -hex 20` makes one");
  }
  console.hosts = section.texts("hosts");
  const bool plain = section.flag("plain", false);
  if (const auto place = read_place(section, "listen", "127.0.0.1:8642")) {
    console.listen = *place;
    if (!is_loopback(*place) && (console.token.empty() || !plain)) {
      section.problem("listen",
                      "an address that others can reach needs `token`, and `plain = true` to say "
                      "that the network between is trusted: what is served is not encrypted. For "
                      "probes and /metrics alone, give that address to `probes`");
    }
  }
  if (section.has("probes")) console.probes = read_place(section, "probes", "");
  section.finish();
  return console;
}

}  // namespace seriatim::app
