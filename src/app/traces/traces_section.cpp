#include "app/traces/traces_section.hpp"

#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

/// A common mistake. Collectors take OTLP over HTTP at a path.
bool lacks_path(const std::string& url) {
  try {
    return handlers::parse_url(url).target == "/";
  } catch (const Error&) {  // reported already
    return false;
  }
}

}  // namespace

TracesConfig read_traces(Options section, Secrets& secrets) {
  TracesConfig traces;
  traces.collector = read_post_target(section, secrets, std::chrono::seconds{2});
  if (lacks_path(traces.collector.url)) {
    section.problem("url", "has no path; write it out, as in \"http://127.0.0.1:4318/v1/traces\"");
  }
  traces.relation = static_cast<SpanRelation>(section.choice("relation", 0, {"child", "link"}));
  traces.service_name = section.text("service_name", traces.service_name);
  if (traces.service_name.empty() || printable(traces.service_name) != traces.service_name) {
    section.problem("service_name", "must be a name without control characters");
  }
  section.finish();
  return traces;
}

}  // namespace seriatim::app
