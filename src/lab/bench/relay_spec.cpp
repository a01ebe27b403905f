#include "lab/bench/relay_spec.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace seriatim::bench {

namespace {

using boost::json::object;

std::string text(const object& from, const char* key) {
  return std::string(from.at(key).as_string());
}

unsigned number(const object& from, const char* key) {
  return from.at(key).to_number<unsigned>();
}

}  // namespace

std::string to_line(const RelaySpec& spec) {
  object options;
  for (const auto& [key, option] : spec.options) {
    std::visit([&, name = key](const auto& plain) { options[name] = plain; }, option);
  }
  return boost::json::serialize(object{{"url", spec.url},
                                       {"process", spec.process},
                                       {"by_id", spec.order == OrderBy::id},
                                       {"lanes", spec.lanes},
                                       {"batch_rows", spec.batch_rows},
                                       {"commit_every", spec.commit_every},
                                       {"read_ahead", spec.read_ahead},
                                       {"listen", spec.listen},
                                       {"insert_latency_ms", spec.insert_latency_ms},
                                       {"delivers_late", spec.delivers_late},
                                       {"rows", spec.rows},
                                       {"handler", spec.handler},
                                       {"options", std::move(options)}});
}

RelaySpec spec_from(const std::string& line) {
  const auto parsed = boost::json::parse(line);
  const auto& from = parsed.as_object();
  RelaySpec spec;
  spec.url = text(from, "url");
  spec.process = text(from, "process");
  spec.order = from.at("by_id").as_bool() ? OrderBy::id : OrderBy::created_at;
  spec.lanes = number(from, "lanes");
  spec.batch_rows = number(from, "batch_rows");
  spec.commit_every = number(from, "commit_every");
  spec.read_ahead = from.at("read_ahead").as_bool();
  spec.listen = from.at("listen").as_bool();
  spec.insert_latency_ms = number(from, "insert_latency_ms");
  spec.delivers_late = from.at("delivers_late").as_bool();
  spec.rows = from.at("rows").to_number<std::uint64_t>();
  spec.handler = text(from, "handler");
  for (const auto& [key, option] : from.at("options").as_object()) {
    if (option.is_bool()) {
      spec.options[std::string(key)] = option.as_bool();
    } else {
      spec.options[std::string(key)] = std::string(option.as_string());
    }
  }
  return spec;
}

}  // namespace seriatim::bench
