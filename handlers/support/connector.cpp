#include "support/connector.hpp"

#include <algorithm>
#include <utility>

#include "support/address_policy.hpp"

namespace seriatim::handlers {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = HttpFailure::Kind;

HttpFailure refused_target(const Url& url, const std::string& what) {
  return {Kind::refused,
          url.origin() + ": leads to " + what + "; set allow_private = true if that is meant"};
}

}  // namespace

Connector::Connector(const HttpClientConfig& config)
    : config_(config), resolver_(config.lookup), dialer_(config.ca_file) {}

Opened<HttpConnection> Connector::connect(const Url& url, Clock::time_point deadline) {
  deadline = std::min(deadline, Clock::now() + config_.connect_timeout);
  auto addresses = addresses_of(url, deadline);
  if (auto* failure = std::get_if<HttpFailure>(&addresses)) return std::move(*failure);
  return dialer_.dial(url, std::get<Addresses>(addresses), deadline);
}

Opened<ByteStream> Connector::open(const Url& url, Clock::time_point deadline) {
  deadline = std::min(deadline, Clock::now() + config_.connect_timeout);
  auto addresses = addresses_of(url, deadline);
  if (auto* failure = std::get_if<HttpFailure>(&addresses)) return std::move(*failure);
  return dialer_.open(url, std::get<Addresses>(addresses), deadline);
}

std::variant<Connector::Addresses, HttpFailure> Connector::addresses_of(
    const Url& url, Clock::time_point deadline) {
  if (const auto why = refusal_of_url(url); !why.empty() && !config_.allow_private) {
    return refused_target(url, why);
  }
  if (url.host_kind == Url::HostKind::address) return Addresses{url.host};
  auto result = resolver_.resolve(url.host, deadline);
  if (auto* failure = std::get_if<Resolver::Failure>(&result))
    return HttpFailure{Kind::not_sent, url.origin() + ": " + failure->what};
  auto addresses = std::get<Addresses>(std::move(result));
  if (config_.allow_private) return addresses;
  const auto why = refusal_of_address(addresses.front());
  std::erase_if(addresses,
                [](const auto& address) { return !refusal_of_address(address).empty(); });
  if (addresses.empty()) return refused_target(url, why);
  return addresses;
}

}  // namespace seriatim::handlers
