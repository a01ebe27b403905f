#include "fuzz/fuzz_target.hpp"
#include "support/cannot_render.hpp"
#include "support/encoding.hpp"
#include "support/url.hpp"

SERIATIM_FUZZ_TARGET(service_url) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  constexpr ServiceScheme scheme{"amqp", "amqps", "5672", "5671"};
  ServiceUrl url;
  try {
    url = parse_service_url(input, scheme);
  } catch (const CannotRender&) {
    return;
  }
  require(!url.place.host.empty() && !seriatim::fuzz::has_control(url.place.host_field),
          "there is a host");
  const auto port = std::stoul(url.place.port);
  require(port > 0 && port < 65536, "there is a port");
  const auto again = parse_service_url(url.place.scheme + "://" + percent_encode(url.user) + ':' +
                                           percent_encode(url.password) + '@' +
                                           url.place.host_field + '/' + percent_encode(url.path),
                                       scheme);
  require(same_origin(url.place, again.place) && url.place.scheme == again.place.scheme,
          "the place is the same after printing");
  require(url.user == again.user && url.password == again.password && url.path == again.path,
          "user, password and path are the same after printing");
}
