#include "console/access.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <charconv>

namespace seriatim::console {

namespace {

namespace asio = boost::asio;

constexpr std::chrono::minutes failures_for{1};
constexpr std::size_t proven_max = 256;
constexpr std::string_view bearer = "Bearer ";

bool same(const std::array<unsigned char, 32>& one, const std::array<unsigned char, 32>& other) {
  return ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string escaped;
  if (text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) escaped.append("%").append(text.substr(i, 2));
  return percent_decoded(escaped);
}

struct PasswdEntry {
  unsigned uid = 0;
  std::string name;
};
/// Calls getpwnam_r or getpwuid_r with more and more room. Absent: there is no such user.
template <class Find>
std::optional<PasswdEntry> machine_user(Find&& find) {
  constexpr std::size_t room_max = 1 << 20;
  for (std::vector<char> room(4096); room.size() <= room_max; room.resize(room.size() * 4)) {
    ::passwd entry{};
    ::passwd* found = nullptr;
    if (find(&entry, room.data(), room.size(), &found) == ERANGE) continue;
    if (!found) break;
    return PasswdEntry{found->pw_uid, found->pw_name};
  }
  return std::nullopt;
}

/// The value of our cookie; empty: none was sent.
std::string cookie_in(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    auto pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) {
      return std::string(pair.substr(name.size() + 1));
    }
  }
  return {};
}

/// `__Host-`: browsers take it from this host over TLS only, so no other host can plant one.
std::string cookie_name(const HttpRequest& request) {
  return request.encrypted ? "__Host-seriatim" : "seriatim";
}

std::string cookie_header(const HttpRequest& request, const std::string& value,
                          std::chrono::seconds life) {
  return cookie_name(request) + '=' + value +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(life.count()) +
         (request.encrypted ? "; Secure" : "");
}

Caller refused(unsigned status, std::string why) {
  Caller caller;
  caller.refused = status;
  caller.why = std::move(why);
  return caller;
}

Caller blocked() {
  return refused(429, "too many wrong tokens in the last minute; wait a minute");
}

bool contains(const std::string& network, const asio::ip::address& address) {
  boost::system::error_code wrong;
  if (address.is_v4()) {
    const auto net = asio::ip::make_network_v4(network, wrong);
    return !wrong && net.canonical() ==
                         asio::ip::network_v4(address.to_v4(), net.prefix_length()).canonical();
  }
  const auto net = asio::ip::make_network_v6(network, wrong);
  return !wrong &&
         net.canonical() == asio::ip::network_v6(address.to_v6(), net.prefix_length()).canonical();
}

/// An IPv4 client of a socket for all addresses comes from ::ffff:10.0.0.5.
std::optional<asio::ip::address> peer_address(const std::string& text) {
  boost::system::error_code wrong;
  const auto address = asio::ip::make_address(text, wrong);
  if (wrong) return std::nullopt;
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

bool is_read(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

constexpr std::string_view session = "/api/v1/session";

/// A page of another site can send neither JSON nor a header of our own without being asked, and
/// browsers say where a request came from.
std::optional<HttpResponse> refuse_cross_site(const HttpRequest& request) {
  const auto no = [&](std::string_view why, std::string_view remedy) {
    return refusal(request.path, 403, why, remedy);
  };
  const auto type = request.header("content-type");
  if (type.substr(0, type.find(';')) != "application/json") {
    return no("only JSON is taken here", "send Content-Type: application/json");
  }
  if (request.header("seriatim-console").empty()) {
    return no("the header Seriatim-Console is missing", "send Seriatim-Console: 1");
  }
  const auto site = request.header("sec-fetch-site");
  const auto origin = request.header("origin");
  const auto scheme_end = origin.find("://");
  const bool of_host =
      scheme_end != std::string::npos && origin.substr(scheme_end + 3) == request.header("host");
  if (site.empty() ? of_host : site == "same-origin") return std::nullopt;
  return no("it does not come from this console's own page",
            "send Sec-Fetch-Site: same-origin, or an Origin that is equal to Host");
}

}  // namespace

bool is_network(const std::string& text) {
  boost::system::error_code not_4;
  boost::system::error_code not_6;
  (void)asio::ip::make_network_v4(text, not_4);
  (void)asio::ip::make_network_v6(text, not_6);
  return !not_4 || !not_6;
}

Need need_of(const HttpRequest& request) {
  const std::string_view path = request.path;
  if (path == session) return Need::nothing;
  if (!is_read(request)) return Need::acts;
  if (path == "/api/v1/me") return Need::nothing;
  if (path.starts_with("/api/") || path == "/metrics" || path == "/statusz") return Need::reads;
  return Need::nothing;  // probes, and the page, whose files are the same for all
}

std::string who_of(const HttpRequest& request) {
  const auto& caller = request.caller;
  return caller.name + " (console " + (request.peer.empty() ? "unix socket" : request.peer) + ')';
}

Access::Access(Settings settings) : settings_(std::move(settings)) {
  open_ = !settings_.proxy && std::all_of(settings_.users.begin(), settings_.users.end(),
                                          [](const User& user) { return user.token.empty(); });
  for (const auto& user : settings_.users) known_.push_back({user, sha256(user.token)});
  if (settings_.over_socket) look_up_machine_users();
}

/// Once, and not for each connection: a directory service that hangs would hold up all of them.
void Access::look_up_machine_users() {
  for (const auto& [user, digest] : known_) {
    if (user.shared) continue;
    const auto* name = user.name.c_str();
    const auto found = machine_user([name](auto... room) { return ::getpwnam_r(name, room...); });
    if (found) machine_users_[found->uid] = {user.name, user.role};
  }
  for (const ::uid_t uid : {::uid_t{0}, ::geteuid()}) {  // unless they are configured
    const auto found = machine_user([uid](auto... room) { return ::getpwuid_r(uid, room...); });
    const auto name = found ? found->name : "uid " + std::to_string(uid);
    machine_users_.try_emplace(uid, MachineUser{name, Role::operator_});
  }
}

Access::Digest Access::sha256(std::string_view text) {
  Digest digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

const Access::Known* Access::named(std::string_view name) const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return known.user.name == name; });
  return found == known_.end() ? nullptr : &*found;
}

// --- who it is -----------------------------------------------------------------------------------

Caller Access::identify(const HttpRequest& request) {
  if (request.peer_uid) return of_socket(request);
  if (settings_.proxy) {
    if (auto caller = of_proxy(request)) return *caller;
  }
  if (request.authorization.starts_with(bearer)) {
    return of_token(request, std::string_view(request.authorization).substr(bearer.size()));
  }
  if (is_read(request) && !cookie_in(request.header("cookie"), cookie_name(request)).empty()) {
    const auto caller = of_cookie(request);
    if (!open_) return caller;  // without tokens it is one of a time before
  }
  const auto address = peer_address(request.peer);
  if (!open_ || !address || !address->is_loopback()) return {};
  return {"", Role::reader, Caller::Proof::loopback, 0, ""};
}

Caller Access::of_socket(const HttpRequest& request) const {
  const auto found = machine_users_.find(*request.peer_uid);
  if (found == machine_users_.end()) {
    return refused(403, "the user with uid " + std::to_string(*request.peer_uid) +
                            " may not use this socket; add a [[console.user]] of its name, and "
                            "restart the relay");
  }
  return {found->second.name, found->second.role, Caller::Proof::socket, 0, ""};
}

/// All users are compared, so that the time it takes says nothing.
Caller Access::of_token(const HttpRequest& request, std::string_view token) {
  const std::lock_guard lock(mutex_);
  if (is_blocked(request.peer)) return blocked();
  const auto given = sha256(token);
  const Known* right = nullptr;
  for (const auto& known : known_) {
    if (same(known.digest, given) && !known.user.token.empty()) right = &known;
  }
  if (right) {
    if (proven_.size() < proven_max) proven_.insert(request.peer);
    return {right->user.name, right->user.role, Caller::Proof::bearer, 0, ""};
  }
  failed(request.peer);
  return refused(401, "the token is not right");
}

/// Absent: it is no request of the proxy.
std::optional<Caller> Access::of_proxy(const HttpRequest& request) {
  const auto& proxy = *settings_.proxy;
  const auto address = peer_address(request.peer);
  const auto secret = request.header("seriatim-proxy");
  const bool inside =
      address && std::any_of(proxy.from.begin(), proxy.from.end(),
                             [&](const auto& net) { return contains(net, *address); });
  if (!inside || secret.empty()) return std::nullopt;
  if (!same(sha256(secret), sha256(proxy.secret))) {
    const std::lock_guard lock(mutex_);
    if (is_blocked(request.peer)) return blocked();
    failed(request.peer);
    return refused(401, "the secret in Seriatim-Proxy is not right");
  }
  std::string header = proxy.user_header;
  std::transform(header.begin(), header.end(), header.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto name = request.header(header);
  // Sent twice, one may be the client's own.
  if (name.empty() || !is_plain_text(name)) {
    return refused(401, "the proxy does not name one user in " + proxy.user_header);
  }
  const auto* known = named(name);
  if (known && known->user.shared) known = nullptr;  // a person who has the name by chance
  return Caller{name, known ? known->user.role : Role::viewer, Caller::Proof::proxy, 0, ""};
}

bool Access::is_blocked(const std::string& peer) {
  const auto since = settings_.now() - failures_for;
  while (!failures_.empty() && failures_.front().first <= since) failures_.pop_front();
  const auto own = static_cast<std::size_t>(
      std::count_if(failures_.begin(), failures_.end(),
                    [&](const auto& failure) { return failure.second == peer; }));
  if (own >= failures_of_peer_max) return true;
  return failures_.size() >= failures_max && !proven_.contains(peer);
}

void Access::failed(const std::string& peer) {
  failures_.emplace_back(settings_.now(), peer);
}

// --- the cookie ----------------------------------------------------------------------------------

std::string Access::signature(const Known& known, const std::string& text) const {
  const auto key = sha256("seriatim view cookie\n" + known.user.token);
  std::array<unsigned char, 32> mac{};
  unsigned bytes = mac.size();
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &bytes);
  return hex({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

/// NAME.ROLE.EXPIRY.SIGNATURE, the name in hexadecimal.
std::string Access::cookie_of(const Known& known) const {
  const auto end = std::chrono::duration_cast<std::chrono::seconds>(
      (settings_.now() + cookie_life).time_since_epoch());
  const auto text =
      hex(known.user.name) + '.' + to_string(known.user.role) + '.' + std::to_string(end.count());
  return text + '.' + signature(known, text);
}

Caller Access::of_cookie(const HttpRequest& request) const {
  const auto ended = refused(401, "the session has ended; log in again");
  const auto value = cookie_in(request.header("cookie"), cookie_name(request));
  const auto last = value.rfind('.');
  if (last == std::string::npos) return ended;
  const auto text = value.substr(0, last);
  const auto first = text.find('.');
  const auto second = text.find('.', first + 1);
  if (first == std::string::npos || second == std::string::npos) return ended;
  const auto name = from_hex(std::string_view(text).substr(0, first));
  const auto* known = name ? named(*name) : nullptr;
  if (!known || known->user.token.empty()) return ended;
  const auto given = value.substr(last + 1);
  const bool sound = same(sha256(signature(*known, text)), sha256(given));
  const bool of_role = text.substr(first + 1, second - first - 1) == to_string(known->user.role);
  std::int64_t end = 0;
  std::from_chars(text.data() + second + 1, text.data() + text.size(), end);
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(settings_.now().time_since_epoch());
  if (!sound || !of_role || now.count() >= end) return ended;
  return {known->user.name, known->user.role, Caller::Proof::cookie, 0, ""};
}

HttpResponse Access::log_in(const HttpRequest& request) {
  boost::system::error_code wrong;
  const auto body = boost::json::parse(request.body, wrong);
  const auto* object = wrong ? nullptr : body.if_object();
  const auto* token = object ? object->if_contains("token") : nullptr;
  if (!token || !token->is_string()) {
    return problem(422, "the body has no token", R"(send {"token": "…"})");
  }
  if (request.caller.proof == Caller::Proof::proxy ||
      request.caller.proof == Caller::Proof::socket) {
    return problem(422, "you are known already, as " + request.caller.name,
                   "read and act without a token");
  }
  if (open_) {
    return problem(422, "no token is configured, so there is nothing to log in to",
                   "set console.token, or add a [[console.user]]");
  }
  const auto caller = of_token(request, token->as_string());
  if (caller.refused != 0) return problem(caller.refused, caller.why);
  boost::json::object who{{"name", caller.name}, {"role", to_string(caller.role)}};
  HttpResponse response{200, boost::json::serialize(who), "application/json"};
  response.headers.emplace_back(
      "Set-Cookie", cookie_header(request, cookie_of(*named(caller.name)), cookie_life));
  return response;
}

HttpResponse Access::log_out(const HttpRequest& request) const {
  HttpResponse response{200, "{}", "application/json"};
  response.headers.emplace_back("Set-Cookie", cookie_header(request, "", std::chrono::seconds(0)));
  return response;
}

// --- what it may ---------------------------------------------------------------------------------

std::optional<HttpResponse> Access::refuse(const HttpRequest& request) const {
  const auto& caller = request.caller;
  const auto need = need_of(request);
  if (caller.proof == Caller::Proof::none && caller.refused == 403) {  // a foreign uid
    return refusal(request.path, 403, caller.why);
  }
  if (!is_read(request)) {
    if (auto crossed = refuse_cross_site(request)) return crossed;
  }
  if (need == Need::nothing) return std::nullopt;
  const auto ask_for_token = [&](unsigned status, const std::string& why, const char* remedy) {
    auto response = refusal(request.path, status, why, remedy);
    if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  };
  if (caller.refused != 0) return ask_for_token(caller.refused, caller.why, "");
  if (need == Need::acts && open_ && caller.role < Role::viewer) {
    return refusal(request.path, 403, "this console can only read: no token is configured",
                   "set console.token or add a [[console.user]] with role = \"operator\", and "
                   "restart the relay");
  }
  if (caller.role == Role::none) {
    return ask_for_token(401, "this needs a token",
                         "send the token of [console] as Authorization: Bearer TOKEN");
  }
  if (need == Need::acts && caller.role != Role::operator_) {
    return refusal(request.path, 403, caller.name + " may only read",
                   "ask a user whose role is operator");
  }
  return std::nullopt;
}

}  // namespace seriatim::console
