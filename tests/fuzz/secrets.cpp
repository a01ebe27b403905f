#include "app/secrets.hpp"

#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(secrets) {
  using seriatim::app::Secrets;
  using seriatim::fuzz::require;
  const std::string password(seriatim::fuzz::take_line(input));
  const std::string text(input);
  Secrets any;
  any.learn_from_database_url(input);
  const auto once = any.redact(text);
  // A secret with an asterisk ("%2A" too) may match where the mask is: then a second look hides
  // more.
  if (input.find_first_of("*%") == std::string_view::npos) {
    require(any.redact(once) == once, "what is redacted is left as it is");
  }
  if (password.size() < Secrets::bytes_min || password.find('*') != std::string::npos) return;
  for (const auto& url : {"postgresql://me:" + password + "@db.example/shop",
                          "amqps://me:" + password + "@10.0.0.7:5671"}) {
    Secrets secrets;
    secrets.learn_from_database_url(url);
    for (const auto& message : {url, text + password + text, "invalid: \"" + password + '"'}) {
      require(secrets.redact(message).find(password) == std::string::npos,
              "the password of a URL is never shown");
    }
  }
}
