#include "support/address_policy.hpp"

#include <boost/asio/ip/address.hpp>
#include <cstdint>

namespace seriatim::handlers {

namespace {

namespace ip = boost::asio::ip;

struct Range4 {
  std::uint32_t first;
  unsigned bits;
  const char* what;
};

// IANA IPv4 Special-Purpose Address Registry, what is not globally reachable; and multicast.
constexpr Range4 refused4[] = {
    {0x00000000, 8, "an unspecified address"},  // 0.0.0.0/8 reaches this host on Linux
    {0x0A000000, 8, "a private address"},        {0x64400000, 10, "a carrier-grade NAT address"},
    {0x7F000000, 8, "a loopback address"},       {0xA9FE0000, 16, "a link-local address"},
    {0xAC100000, 12, "a private address"},       {0xC0000000, 24, "a special-purpose address"},
    {0xC0000200, 24, "a documentation address"}, {0xC0586300, 24, "a relay address"},
    {0xC0A80000, 16, "a private address"},       {0xC6120000, 15, "a benchmarking address"},
    {0xC6336400, 24, "a documentation address"}, {0xCB007100, 24, "a documentation address"},
    {0xE0000000, 4, "a multicast address"},      {0xF0000000, 4, "a reserved address"},
};

std::string refusal4(std::uint32_t address) {
  for (const auto& range : refused4) {
    const auto mask = ~std::uint32_t{0} << (32 - range.bits);
    if ((address & mask) == range.first) return range.what;
  }
  return {};
}

struct Range6 {
  std::uint64_t first;  ///< upper half
  unsigned bits;        ///< at most 64
  const char* what;
};

// Within 2000::/3, the only block in public use; everything else is refused below.
constexpr Range6 refused6[] = {
    {0x2001'0000'0000'0000, 23, "a special-purpose address"},  // Teredo and its neighbours
    {0x2001'0db8'0000'0000, 32, "a documentation address"},
    {0x2002'0000'0000'0000, 16, "a 6to4 address"},
    {0x3fff'0000'0000'0000, 20, "a documentation address"},
};

bool within(std::uint64_t upper, std::uint64_t first, unsigned bits) {
  return ((upper ^ first) >> (64 - bits)) == 0;
}

std::uint64_t half(const ip::address_v6::bytes_type& bytes, std::size_t from) {
  std::uint64_t value = 0;
  for (std::size_t i = from; i < from + 8; ++i) value = value << 8 | bytes[i];
  return value;
}

std::string refusal6(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  const auto upper = half(bytes, 0);
  const auto lower = half(bytes, 8);
  if (address.is_unspecified()) return "an unspecified address";
  if (address.is_loopback()) return "a loopback address";
  if (address.is_v4_mapped()) return "an IPv4-mapped address";
  // 64:ff9b::/96 is an IPv4 address behind a translator.
  if (upper == 0x0064'ff9b'0000'0000 && lower >> 32 == 0) {
    return refusal4(static_cast<std::uint32_t>(lower));
  }
  if (within(upper, 0xfc00'0000'0000'0000, 7)) return "a unique local address";
  if (within(upper, 0xfe80'0000'0000'0000, 10)) return "a link-local address";
  if (within(upper, 0xff00'0000'0000'0000, 8)) return "a multicast address";
  if (!within(upper, 0x2000'0000'0000'0000, 3)) return "a reserved address";
  for (const auto& range : refused6) {
    if (within(upper, range.first, range.bits)) return range.what;
  }
  return {};
}

bool ends_with_label(const std::string& host, const std::string& label) {
  return host == label || host.ends_with('.' + label);
}

}  // namespace

std::string refusal_of_address(const std::string& text) {
  boost::system::error_code error;
  const auto address = ip::make_address(text, error);
  if (error) return "not a numeric address";
  return address.is_v4() ? refusal4(address.to_v4().to_uint()) : refusal6(address.to_v6());
}

std::string refusal_of_url(const Url& url) {
  if (url.host_kind == Url::HostKind::address) return refusal_of_address(url.host);
  return ends_with_label(url.name(), "localhost") ? "a name of this host" : "";
}

}  // namespace seriatim::handlers
