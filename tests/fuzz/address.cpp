#include <arpa/inet.h>

#include <array>

#include "fuzz/fuzz_target.hpp"
#include "support/address_policy.hpp"

SERIATIM_FUZZ_TARGET(address) {
  using seriatim::fuzz::require;
  using seriatim::handlers::refusal_of_address;
  const std::string text(input);
  if (text.find_first_of(std::string("%\0", 2)) != std::string::npos) return;  // a zone
  std::array<unsigned char, 16> bytes{};
  const bool four = ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1;
  const bool six = !four && ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
  const auto refusal = refusal_of_address(text);
  require((four || six) == (refusal != "not a numeric address"),
          "an address is what the system takes for one");
  if (four) {
    require(refusal_of_address("64:ff9b::" + text) == refusal,
            "an address behind a translator is judged as itself");
    require(!refusal_of_address("::ffff:" + text).empty(), "a mapped address is refused");
    const bool local = bytes[0] == 0 || bytes[0] == 10 || bytes[0] == 127 || bytes[0] >= 224 ||
                       (bytes[0] == 192 && bytes[1] == 168) || (bytes[0] == 169 && bytes[1] == 254);
    require(!local || !refusal.empty(), "a private address is refused");
  }
  if (six) {
    std::array<char, INET6_ADDRSTRLEN> printed{};
    ::inet_ntop(AF_INET6, bytes.data(), printed.data(), printed.size());
    require(refusal_of_address(printed.data()) == refusal, "all forms of an address are the same");
    const bool global = bytes[0] >> 5 == 1 || (bytes[0] == 0 && bytes[1] == 0x64);
    require(global || !refusal.empty(), "only global addresses are let through");
  }
}
