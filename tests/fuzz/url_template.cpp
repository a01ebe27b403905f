#include "fuzz/fuzz_target.hpp"
#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"
#include "support/http_target.hpp"
#include "support/template.hpp"

SERIATIM_FUZZ_TARGET(url_template) {
  using namespace seriatim::handlers;
  const std::string text(seriatim::fuzz::take_line(input));
  const auto table = std::make_shared<seriatim::Options::Table>();
  table->values["url"] = {text, "x.toml:1"};
  seriatim::Problems problems;
  seriatim::Options options(table, problems);
  const auto target = read_http_target(options);
  if (!problems.empty()) return;
  const auto of_payload = [&](std::string payload) {
    const auto record = seriatim::testing::make_record(std::move(payload));
    TemplateValues values(record);
    return parse_url(Template(target.url, Escaping::url).render(values));
  };
  try {
    const auto usual = of_payload(R"({"a":1,"b":{"c":"d"}})");
    seriatim::fuzz::require(same_origin(usual, of_payload(std::string(input))),
                            "a record does not choose the host");
  } catch (const CannotRender&) {
  }
}
