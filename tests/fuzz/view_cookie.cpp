#include "console/access.hpp"
#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(view_cookie) {
  namespace console = seriatim::console;
  static console::Access access({{{"alice", console::Role::operator_, "alice-token-alice-token"}}});
  console::HttpRequest request;
  request.method = "GET";
  request.peer = "10.0.0.7";
  request.headers["cookie"] = input;
  seriatim::fuzz::require(access.identify(request).role == console::Role::none,
                          "nobody guesses a signature");
  request.headers["content-type"] = "application/json";
  request.body = input;
  seriatim::fuzz::require(access.log_in(request).status != 200, "nobody guesses a token");
}
