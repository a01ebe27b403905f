#include "console/http_message.hpp"
#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(request_path) {
  namespace console = seriatim::console;
  using seriatim::fuzz::require;
  console::HttpRequest request;
  request.query = seriatim::fuzz::take_line(input);
  const auto is_sound = [](const std::string& text) {
    return text.find('\0') == std::string::npos;
  };
  require(is_sound(request.parameter("id").value_or("")), "no NUL in a parameter");
  for (const char* pattern : {"/p/{process}", "/p/{process}/row", "/"}) {
    const auto values = console::match(pattern, input);
    if (!values) continue;
    for (const auto& [name, value] : *values) {
      require(name == "process", "a value has the name of the pattern");
      require(is_sound(value) && !value.empty() && value != "." && value != "..",
              "a value climbs nowhere");
    }
  }
}
