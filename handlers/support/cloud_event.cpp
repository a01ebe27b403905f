#include "support/cloud_event.hpp"

#include "support/encoding.hpp"
#include "support/json_value.hpp"
#include "support/time_text.hpp"

namespace seriatim::handlers {

namespace {

std::string member(const std::string& name, const std::string& value) {
  return '"' + name + "\":\"" + json_escape(value) + '"';
}

}  // namespace

std::vector<Header> cloud_event_attributes(const Record& record) {
  std::vector<Header> list{{"specversion", "1.0"},
                           {"id", record.id()},
                           {"source", "seriatim:" + percent_encode(record.process)},
                           {"type", record.event_type.value_or("seriatim.record")}};
  if (record.key) list.emplace_back("subject", *record.key);
  // In id order a source may name no time.
  if (record.position.created_at_us != 0) {
    list.emplace_back("time", rfc3339(record.position.created_at_us));
  }
  return list;
}

std::string cloud_event_json(const Record& record, const std::string& content_type) {
  std::string out = "{";
  for (const auto& [name, value] : cloud_event_attributes(record)) out += member(name, value) + ',';
  out += member("datacontenttype", content_type);
  if (record.payload && json_problem(*record.payload).empty()) {
    out += ",\"data\":" + *record.payload;
  } else if (record.payload) {
    out += ',' + member("data_base64", base64_encode(*record.payload));
  }
  return out + '}';
}

}  // namespace seriatim::handlers
