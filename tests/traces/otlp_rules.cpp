#include "traces/otlp_rules.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <regex>

namespace seriatim::testing {

namespace {

namespace json = boost::json;
using Breaches = std::vector<std::string>;
using Rule = std::function<void(const json::value&, const std::string& path, Breaches&)>;

Rule text_like(const std::string& pattern) {
  return [pattern](const json::value& value, const std::string& path, Breaches& breaches) {
    const auto* text = value.if_string();
    if (!text || !std::regex_match(std::string(*text), std::regex(pattern))) {
      breaches.push_back(path + " is no text like " + pattern);
    }
  };
}

Rule whole_number(std::int64_t min, std::int64_t max) {
  return [=](const json::value& value, const std::string& path, Breaches& breaches) {
    boost::system::error_code wrong;
    const auto number = value.is_number() ? value.to_number<std::int64_t>(wrong) : min - 1;
    if (wrong || number < min || number > max) breaches.push_back(path + " is out of range");
  };
}

Rule list_of(const Rule& rule) {
  return [rule](const json::value& value, const std::string& path, Breaches& breaches) {
    const auto* list = value.if_array();
    if (!list) return breaches.push_back(path + " is no list");
    for (std::size_t i = 0; i < list->size(); ++i) {
      rule((*list)[i], path + '[' + std::to_string(i) + ']', breaches);
    }
  };
}

/// Fields whose names end in "!" must be there.
Rule message(std::map<std::string, Rule> fields) {
  return [fields = std::move(fields)](const json::value& value, const std::string& path,
                                      Breaches& breaches) {
    const auto* object = value.if_object();
    if (!object) return breaches.push_back(path + " is no object");
    for (const auto& [name, rule] : fields) {
      const bool required = name.ends_with('!');
      const auto* found = object->if_contains(required ? name.substr(0, name.size() - 1) : name);
      if (found) rule(*found, path + '.' + name, breaches);
      if (!found && required) breaches.push_back(path + " has no " + name);
    }
    for (const auto& member : *object) {
      const std::string name(member.key());
      if (!fields.contains(name) && !fields.contains(name + '!')) {
        breaches.push_back(path + " has the unknown field " + name);
      }
    }
  };
}

Rule any_value() {
  const Rule number = [](const json::value& value, const std::string& path, Breaches& breaches) {
    if (!value.is_number()) breaches.push_back(path + " is no number");
  };
  const auto fields = message({{"stringValue", text_like("[^]*")},
                               {"intValue", text_like("-?[0-9]{1,19}")},
                               {"doubleValue", number}});
  return [fields](const json::value& value, const std::string& path, Breaches& breaches) {
    fields(value, path, breaches);
    if (value.is_object() && value.as_object().size() != 1) {
      breaches.push_back(path + " is not one value");
    }
  };
}

Rule request() {
  const auto attributes =
      list_of(message({{"key!", text_like("[a-z][a-z_.]+")}, {"value!", any_value()}}));
  const auto trace_id = text_like("(?!0{32})[0-9a-f]{32}");
  const auto span_id = text_like("(?!0{16})[0-9a-f]{16}");
  const auto time = text_like("[1-9][0-9]{18}");
  const auto flags = whole_number(0, 0x3ff);
  const auto count = whole_number(0, 0xffffffff);
  const auto span = message(
      {{"traceId!", trace_id},
       {"spanId!", span_id},
       {"parentSpanId", span_id},
       {"flags!", flags},
       {"name!", text_like("deliver .+")},
       {"kind!", whole_number(1, 5)},
       {"startTimeUnixNano!", time},
       {"endTimeUnixNano!", time},
       {"attributes!", attributes},
       {"links",
        list_of(message({{"traceId!", trace_id}, {"spanId!", span_id}, {"flags!", flags}}))},
       {"droppedLinksCount", count},
       {"status", message({{"code!", whole_number(0, 2)}})}});
  const auto scope = message({{"name!", text_like(".+")}, {"version!", text_like(".+")}});
  return message(
      {{"resourceSpans!",
        list_of(message({{"resource!", message({{"attributes!", attributes}})},
                         {"scopeSpans!",
                          list_of(message({{"scope!", scope}, {"spans!", list_of(span)}}))}}))}});
}

}  // namespace

std::vector<std::string> otlp_breaches(const std::string& body) {
  boost::system::error_code wrong;
  const auto parsed = json::parse(body, wrong);
  if (wrong) return {"is no JSON: " + wrong.message()};
  Breaches breaches;
  request()(parsed, "", breaches);
  return breaches;
}

}  // namespace seriatim::testing
