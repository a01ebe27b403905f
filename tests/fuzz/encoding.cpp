#include "support/encoding.hpp"

#include "fuzz/fuzz_target.hpp"

namespace {

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text[0] == '%') {
      out += static_cast<char>(std::stoi(std::string(text.substr(1, 2)), nullptr, 16));
      text.remove_prefix(2);
    } else {
      out += text[0];
    }
  }
  return out;
}

}  // namespace

SERIATIM_FUZZ_TARGET(encoding) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  const auto base64 = base64_encode(input);
  require(base64_decode(base64) == std::string(input), "base64 is read back");
  const auto unpadded = base64.substr(0, base64.find('='));
  require(base64_decode(unpadded) == std::string(input), "base64 without padding is read back");
  if (const auto bytes = base64_decode(input)) {
    const auto again = base64_encode(*bytes);
    require(again.substr(0, again.find('=')) == input.substr(0, input.find('=')),
            "only canonical base64 is taken");
  }
  require(percent_decoded(percent_encode(input)) == input, "percent-encoding is read back");
  require(percent_decoded(header_encode(input)) == input, "a header's value is read back");
  auto form = form_encode(input);
  for (auto& c : form) c = c == '+' ? ' ' : c;
  require(percent_decoded(form) == input, "a form's value is read back");
}
