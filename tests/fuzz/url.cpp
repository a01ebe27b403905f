#include "support/url.hpp"

#include <arpa/inet.h>

#include "fuzz/fuzz_target.hpp"
#include "support/address_policy.hpp"
#include "support/cannot_render.hpp"

SERIATIM_FUZZ_TARGET(url) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  Url url;
  try {
    url = parse_url(input);
  } catch (const CannotRender&) {
    return;
  }
  for (const auto& text : {url.target, url.host_field, url.port}) {
    const bool plain = text.find(' ') == std::string::npos && !seriatim::fuzz::has_control(text);
    require(plain, "a URL adds nothing to the request line or to the Host header");
  }
  const auto again = parse_url(url.origin() + url.target);
  require(same_origin(url, again) && url.target == again.target &&
              url.host_field == again.host_field && url.host_kind == again.host_kind,
          "what was accepted is accepted again as it is sent");
  in_addr any{};
  const bool resolves_as_number = ::inet_aton(url.name().c_str(), &any) != 0;
  require(!resolves_as_number || url.host_kind == Url::HostKind::address,
          "a number that a resolver takes for an address is judged as an address");
  const bool judged = refusal_of_address(url.host) != "not a numeric address";
  require(judged == (url.host_kind == Url::HostKind::address), "an address can be judged");
}
