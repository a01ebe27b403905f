#pragma once

#include <string>
#include <vector>

namespace seriatim::console {

/// What a client may do. Each may what those before it may.
enum class Role {
  none,    ///< nobody we know
  reader,  ///< from this machine, and no token is configured
  viewer,
  operator_,
};

/// "operator", "viewer", "reader"; empty: none
[[nodiscard]] const char* to_string(Role role);

/// A person (or a script) that may use the console.
struct User {
  std::string name;
  Role role = Role::viewer;  ///< viewer or operator
  std::string token;         ///< empty: known by a proxy or a unix socket only
  bool shared = false;       ///< not a person: whoever has the token. No proxy or socket names it
};

/// A proxy in front of us that knows who its users are.
struct TrustedProxy {
  std::vector<std::string> from;  ///< its addresses: "10.0.0.5/32", "fd00::/8"
  std::string secret;             ///< the value of its header Seriatim-Proxy
  std::string user_header;        ///< has the name of the user
};

/// Whether `text` is a network as TrustedProxy::from has it.
[[nodiscard]] bool is_network(const std::string& text);

}  // namespace seriatim::console
