#pragma once

#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "lab/http/http_service.hpp"
#include "support/process.hpp"
#include "traces/otlp_rules.hpp"

namespace seriatim::testing {

/// The trace of a row, the span in it that wrote the row, and the header that says so.
inline const std::string row_trace = "4bf92f3577b34da6a3ce929d0e0e4736";
inline const std::string row_span = "00f067aa0ba902b7";
inline const std::string sampled = "00-" + row_trace + '-' + row_span + "-01";
inline const std::string unsampled = "00-" + row_trace + '-' + row_span + "-00";

/// A span as the collector got it.
class SeenSpan {
 public:
  explicit SeenSpan(boost::json::object span) : span_(std::move(span)) {}

  /// "" if it is not there.
  [[nodiscard]] std::string text(const std::string& field) const {
    const auto* value = span_.if_contains(field);
    return value ? std::string(value->as_string()) : "";
  }
  [[nodiscard]] std::int64_t number(const std::string& field) const {
    const auto* value = span_.if_contains(field);
    return value ? value->to_number<std::int64_t>() : 0;
  }
  /// An attribute, its number as text; "" if it is not there.
  [[nodiscard]] std::string attribute(const std::string& name) const {
    for (const auto& one : span_.at("attributes").as_array()) {
      if (one.at("key").as_string() != name) continue;
      const auto& value = one.at("value").as_object().begin()->value();
      return value.is_string() ? std::string(value.as_string()) : boost::json::serialize(value);
    }
    return "";
  }
  /// "TRACE-SPAN" of each.
  [[nodiscard]] std::vector<std::string> links() const {
    std::vector<std::string> all;
    if (!span_.contains("links")) return all;
    for (const auto& link : span_.at("links").as_array()) {
      all.push_back(std::string(link.at("traceId").as_string()) + '-' +
                    std::string(link.at("spanId").as_string()));
    }
    return all;
  }
  [[nodiscard]] bool is_error() const {
    return span_.contains("status") && span_.at("status").at("code").as_int64() == 2;
  }
  /// What the receiver of this span's call should have got as its parent.
  [[nodiscard]] std::string traceparent() const {
    return "00-" + text("traceId") + '-' + text("spanId") + "-01";
  }

 private:
  boost::json::object span_;
};

/// An OTLP/HTTP receiver that takes nothing but what the protocol allows.
class Collector {
 public:
  explicit Collector(lab::HttpServiceConfig config = {}) : service(std::move(config)) {}

  [[nodiscard]] std::string url() const { return service.url("/v1/traces"); }

  /// Of all requests, in the order they came.
  [[nodiscard]] std::vector<SeenSpan> spans() const {
    std::vector<SeenSpan> all;
    for (const auto& request : service.requests()) {
      CHECK(request.method == "POST");
      CHECK(request.target == "/v1/traces");
      CHECK(request.header("Content-Type") == "application/json");
      CHECK(otlp_breaches(request.body) == std::vector<std::string>{});
      const auto body = boost::json::parse(request.body);
      for (const auto& resource : body.at("resourceSpans").as_array()) {
        for (const auto& scope : resource.at("scopeSpans").as_array()) {
          for (const auto& span : scope.at("spans").as_array()) all.emplace_back(span.as_object());
        }
      }
    }
    return all;
  }
  /// All bytes that came.
  [[nodiscard]] std::string bytes() const {
    std::string all;
    for (const auto& request : service.requests()) all += request.body;
    return all;
  }

  lab::HttpService service;
};

}  // namespace seriatim::testing
