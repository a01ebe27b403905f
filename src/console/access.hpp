#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "console/http_message.hpp"
#include "console/user.hpp"

namespace seriatim::console {

/// What a request needs, if its path is one of ours or not.
enum class Need {
  nothing,  ///< probes, the page's files, logging in
  reads,
  acts,
};
/// The one table of who may what: by method and path, before routing.
[[nodiscard]] Need need_of(const HttpRequest& request);

/// "alice (console 10.0.0.7)": who did it, for the journal.
[[nodiscard]] std::string who_of(const HttpRequest& request);

/// Who a client is, and what it may do. OPERATIONS: a cookie can only read; acts carry a token that
/// a person typed, or come by a proxy or a unix socket that vouches for the person.
///
/// Threads: any.
class Access {
 public:
  using Clock = std::chrono::system_clock;
  struct Settings {
    std::vector<User> users;
    std::optional<TrustedProxy> proxy{};
    bool over_socket = false;  ///< users of this machine are looked up, once: it may take a while
    std::function<Clock::time_point()> now = Clock::now;
  };
  static constexpr std::chrono::hours cookie_life{8};
  static constexpr std::size_t failures_of_peer_max = 5;  ///< a minute
  static constexpr std::size_t failures_max = 30;         ///< a minute

  explicit Access(Settings settings);

  /// Whether anybody on this machine may read, because nobody has a token.
  [[nodiscard]] bool is_open() const { return open_; }
  /// A wrong token counts as a failure; a peer with too many is not listened to.
  [[nodiscard]] Caller identify(const HttpRequest& request);
  /// Refuses what `request.caller` may not do. Absent: let it in.
  [[nodiscard]] std::optional<HttpResponse> refuse(const HttpRequest& request) const;

  /// Answers POST and DELETE /session: the cookie with which a page reads.
  [[nodiscard]] HttpResponse log_in(const HttpRequest& request);
  [[nodiscard]] HttpResponse log_out(const HttpRequest& request) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Known {
    User user;
    Digest digest{};  ///< of its token
  };
  [[nodiscard]] static Digest sha256(std::string_view text);
  [[nodiscard]] Caller of_socket(const HttpRequest& request) const;
  [[nodiscard]] Caller of_token(const HttpRequest& request, std::string_view token);
  [[nodiscard]] std::optional<Caller> of_proxy(const HttpRequest& request);
  [[nodiscard]] Caller of_cookie(const HttpRequest& request) const;
  void look_up_machine_users();
  [[nodiscard]] const Known* named(std::string_view name) const;
  [[nodiscard]] std::string signature(const Known& known, const std::string& text) const;
  [[nodiscard]] std::string cookie_of(const Known& known) const;
  [[nodiscard]] bool is_blocked(const std::string& peer);
  void failed(const std::string& peer);

  Settings settings_;
  bool open_;
  std::vector<Known> known_;
  struct MachineUser {
    std::string name;
    Role role = Role::none;
  };
  std::map<unsigned, MachineUser> machine_users_;  ///< those who may use the socket, by uid
  std::mutex mutex_;
  std::deque<std::pair<Clock::time_point, std::string>> failures_;  ///< of the last minute
  std::set<std::string> proven_;  ///< peers that had a right token: others' failures do not block
};

}  // namespace seriatim::console
