#include "app/traces/otlp_json.hpp"

#include <boost/json.hpp>
#include <charconv>

#include "app/text.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app {

namespace {

namespace json = boost::json;
using std::chrono::nanoseconds;

// Bits 8 and 9 of a span's flags: whether its context came from elsewhere is known, and it did.
constexpr std::uint32_t remote_is_known = 0x100;
constexpr std::uint32_t is_remote = 0x200;

constexpr int status_error = 2;

json::object text_attribute(std::string_view name, const std::string& value) {
  return {{"key", name}, {"value", {{"stringValue", valid_utf8(value)}}}};
}

json::object attribute(const SpanAttribute& given) {
  if (const auto* text = std::get_if<std::string>(&given.value)) {
    return text_attribute(given.name, *text);
  }
  if (const auto* number = std::get_if<std::int64_t>(&given.value)) {
    return {{"key", given.name}, {"value", {{"intValue", std::to_string(*number)}}}};
  }
  return {{"key", given.name}, {"value", {{"doubleValue", std::get<double>(given.value)}}}};
}

std::string unix_nanoseconds(std::chrono::system_clock::time_point at, nanoseconds later) {
  const auto since = std::chrono::duration_cast<nanoseconds>(at.time_since_epoch());
  return std::to_string((since + later).count());
}

json::object link(const TraceParent& to) {
  return {{"traceId", hex(to.trace)},
          {"spanId", hex(to.span)},
          {"flags", to.flags | remote_is_known | is_remote}};
}

json::object span_object(const CallSpan& span) {
  json::object out{{"traceId", hex(span.self.trace)}, {"spanId", hex(span.self.span)}};
  if (span.parent) out["parentSpanId"] = hex(*span.parent);
  out["flags"] = span.self.flags | remote_is_known | (span.parent ? is_remote : 0);
  out["name"] = valid_utf8(span.name);
  out["kind"] = static_cast<int>(span.kind);
  out["startTimeUnixNano"] = unix_nanoseconds(span.start, nanoseconds(0));
  out["endTimeUnixNano"] = unix_nanoseconds(span.start, span.duration);
  json::array attributes;
  for (const auto& one : span.attributes) attributes.push_back(attribute(one));
  out["attributes"] = std::move(attributes);
  json::array links;
  for (const auto& one : span.links) links.push_back(link(one));
  if (!links.empty()) out["links"] = std::move(links);
  if (span.links_dropped > 0) out["droppedLinksCount"] = span.links_dropped;
  if (span.failed) out["status"] = {{"code", status_error}};
  return out;
}

}  // namespace

std::string otlp_request(std::span<const CallSpan> spans, const std::string& service_name) {
  json::array list;
  for (const auto& span : spans) list.push_back(span_object(span));
  const json::object scope{{"name", "seriatim"}, {"version", version()}};
  const json::array resource{text_attribute("service.name", service_name),
                             text_attribute("service.version", std::string(version()))};
  json::object of_scope{{"scope", scope}, {"spans", std::move(list)}};
  json::object of_resource{{"resource", {{"attributes", resource}}},
                           {"scopeSpans", json::array{std::move(of_scope)}}};
  return json::serialize(json::object{{"resourceSpans", json::array{std::move(of_resource)}}});
}

PartialSuccess partial_success(std::string_view answer) {
  boost::system::error_code wrong;
  const auto parsed = json::parse(answer, wrong);
  const auto* whole = wrong ? nullptr : parsed.if_object();
  const auto* said = whole ? whole->if_contains("partialSuccess") : nullptr;
  const auto* partial = said ? said->if_object() : nullptr;
  if (!partial) return {};
  PartialSuccess result;
  if (const auto* why = partial->if_contains("errorMessage"); why && why->is_string()) {
    result.why = std::string(why->get_string());
  }
  const auto* rejected = partial->if_contains("rejectedSpans");
  if (!rejected) return result;
  if (const auto* text = rejected->if_string()) {
    std::from_chars(text->data(), text->data() + text->size(), result.rejected);
  } else {
    const auto number = rejected->to_number<std::uint64_t>(wrong);
    if (!wrong) result.rejected = number;
  }
  return result;
}

}  // namespace seriatim::app
