#include "app/console_section.hpp"

#include <sys/un.h>
#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace seriatim::app {

namespace {

constexpr std::size_t token_bytes_min = 20;
constexpr std::size_t user_bytes_max = 63;
constexpr std::string_view unix_scheme = "unix:";

std::optional<ListenPlace> parse_socket(const std::string& path) {
  if (!path.starts_with('/') || path.size() >= sizeof(::sockaddr_un::sun_path)) return {};
  return ListenPlace{"", 0, path};
}

/// "127.0.0.1:8642", "[::1]:8642", "unix:/run/seriatim/console.sock"
std::optional<ListenPlace> parse_place(const std::string& text) {
  if (text.starts_with(unix_scheme)) return parse_socket(text.substr(unix_scheme.size()));
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
                             "\"127.0.0.1:8642\" or \"[::1]:8642\", or a socket: "
                             "\"unix:/run/seriatim/console.sock\"");
  }
  return place;
}

bool is_loopback(const ListenPlace& place) {
  return !place.unix_path.empty() || boost::asio::ip::make_address(place.address).is_loopback();
}

/// Empty if absent. One that can be guessed is a problem.
std::string read_secret(Options& section, const char* key, Secrets& secrets) {
  if (!section.has(key)) return {};
  auto text = section.text(key);
  secrets.learn(text);
  if (text.size() < token_bytes_min) {
    section.problem(key, "must have at least 20 characters; `openssl rand -hex 20` makes one");
  }
  return text;
}

console::User read_user(Options& section, const std::vector<console::User>& others,
                        Secrets& secrets) {
  console::User user;
  user.name = section.required_text("name");
  const bool control = std::any_of(user.name.begin(), user.name.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (user.name.size() > user_bytes_max || control) {
    section.problem("name", "must have 1 to 63 bytes, and no control characters");
  }
  user.role = section.choice("role", 0, {"viewer", "operator"}) == 0 ? console::Role::viewer
                                                                     : console::Role::operator_;
  user.token = read_secret(section, "token", secrets);
  for (const auto& other : others) {
    if (other.name == user.name) {
      section.problem("name", '"' + user.name +
                                  "\" is taken by a user above (`token` is that of "
                                  "the user \"operator\")");
    }
    if (!user.token.empty() && other.token == user.token) {
      section.problem("token", "is also that of " + other.name + "; tokens identify users");
    }
  }
  section.finish();
  return user;
}

void read_users(Options& section, ConsoleConfig& console, Secrets& secrets) {
  const auto token = read_secret(section, "token", secrets);
  if (!token.empty()) console.users.push_back({"operator", console::Role::operator_, token, true});
  const bool named_elsewhere = section.has("proxy") || !console.listen.unix_path.empty();
  for (auto& user : section.tables("user")) {
    console.users.push_back(read_user(user, console.users, secrets));
    if (console.users.back().token.empty() && !named_elsewhere) {
      user.problem("token",
                   "is missing; only [console.proxy] or a unix socket know a user without one");
    }
  }
}

console::TrustedProxy read_proxy(Options section, Secrets& secrets) {
  console::TrustedProxy proxy;
  proxy.from = section.texts("from");
  if (proxy.from.empty()) {
    section.problem("from", "is missing; name the proxy's addresses, such as [\"10.0.0.5/32\"]");
  }
  for (const auto& network : proxy.from) {
    if (console::is_network(network)) continue;
    section.problem("from", '"' + network + "\" is no network; write \"10.0.0.5/32\"");
  }
  if (!section.has("secret")) {
    section.problem("secret", "is missing; the proxy sends it as the header Seriatim-Proxy");
  }
  proxy.secret = read_secret(section, "secret", secrets);
  proxy.user_header = section.text("user_header", "X-Forwarded-User");
  section.finish();
  return proxy;
}

std::optional<console::Certificate> read_certificate(Options& section) {
  for (const auto& [key, other] :
       {std::pair{"tls_certificate", "tls_key"}, std::pair{"tls_key", "tls_certificate"}}) {
    if (section.has(key) && !section.has(other)) {
      section.problem(key, std::string("needs `") + other + "` too");
    }
  }
  console::Certificate certificate{section.text("tls_certificate"), section.text("tls_key")};
  if (certificate.file.empty()) return std::nullopt;
  return certificate;
}

/// Nobody reads along on the way, or somebody said that it does not matter.
void check_reach(Options& section, const ConsoleConfig& console, bool plain) {
  const bool guarded =
      console.proxy || std::any_of(console.users.begin(), console.users.end(),
                                   [](const auto& user) { return !user.token.empty(); });
  if (is_loopback(console.listen) || (guarded && (console.tls || console.proxy || plain))) return;
  section.problem("listen",
                  "an address that others can reach needs `token`, a [[console.user]] with one or "
                  "[console.proxy]; and `tls_certificate` and `tls_key`, unless there is a proxy, "
                  "or `plain = true` says that the network between is trusted. For probes and "
                  "/metrics alone, give that address to `probes`");
}

void read_payload(Options& section, ConsoleConfig& console) {
  console.masked = section.choice("payload", 0, {"hidden", "masked"}) == 1;
  console.show = section.texts("show");
  if (!console.show.empty() && !console.masked) {
    section.problem("show", "needs payload = \"masked\"; payloads are hidden");
  }
  const bool known = !console.users.empty() || console.proxy || !console.listen.unix_path.empty();
  if (console.masked && !known) {
    section.problem("payload",
                    "needs `token`, a [[console.user]] or [console.proxy]: without them everyone "
                    "on this machine would see it");
  }
}

}  // namespace

ConsoleConfig read_console(Options section, Secrets& secrets) {
  ConsoleConfig console;
  console.hosts = section.texts("hosts");
  const bool plain = section.flag("plain", false);
  const auto place = read_place(section, "listen", "127.0.0.1:8642");
  if (place) console.listen = *place;
  read_users(section, console, secrets);
  if (section.has("proxy")) console.proxy = read_proxy(section.table("proxy"), secrets);
  console.tls = read_certificate(section);
  if (place) check_reach(section, console, plain);
  read_payload(section, console);
  if (section.has("probes")) console.probes = read_place(section, "probes", "");
  section.finish();
  return console;
}

}  // namespace seriatim::app
