#include "fuzz/fuzz_target.hpp"
#include "support/cannot_render.hpp"
#include "support/encoding.hpp"
#include "support/header_text.hpp"

SERIATIM_FUZZ_TARGET(header) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  const auto name = seriatim::fuzz::take_line(input);
  HeaderLines lines;
  bool taken = true;
  try {
    lines.add(name, input);
  } catch (const CannotRender&) {
    taken = false;
  }
  require(lines.all().size() == (taken ? 1 : 0), "what is refused is not sent");
  if (taken) {
    require(name.find_first_of(": \t\r\n") == name.npos && !name.empty(), "a name is a token");
    require(input.find_first_of(std::string_view("\r\n\0", 3)) == input.npos,
            "a value stays on its line");
    require(same_header(name, name), "a name is equal to itself");
  }
  const auto encoded = header_encode(input);
  if (encoded.size() <= 8192) check_header("X-Id", encoded);
  require(encoded.find_first_of(" \"") == encoded.npos, "an encoded value needs no quotes");
}
