#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "lab/torture/torture.hpp"

namespace seriatim::torture {

namespace {

using boost::json::array;
using boost::json::object;

constexpr std::size_t examples_max = 20;

std::string milliseconds_text(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", ms);
  return text.data();
}

const char* verdict_of(const Report& report) {
  return report.clean() ? "clean" : "broken";
}

array texts(const std::vector<std::string>& all, std::size_t most = SIZE_MAX) {
  array out;
  for (std::size_t i = 0; i < all.size() && i < most; ++i) out.emplace_back(all[i]);
  return out;
}

object counts(const std::map<std::string, std::uint64_t>& all) {
  object out;
  for (const auto& [name, count] : all) out[name] = count;
  return out;
}

object stream_json(const Report::Stream& stream) {
  const auto& verdict = stream.verdict;
  object out{{"process", stream.process},        {"committed", verdict.committed},
             {"delivered", verdict.delivered},   {"repeated", verdict.repeated},
             {"late_calls", verdict.late_calls}, {"clean", verdict.clean()}};
  out["keys_held"] = verdict.keys_held;
  out["at_once"] = verdict.at_once;
  out["repeated_by_one"] = verdict.repeated_by_one;
  object violations;
  for (const auto& [kind, found] : verdict.kinds()) {
    if (!found->empty()) violations[kind] = texts(*found, examples_max);
  }
  out["violations"] = std::move(violations);
  return out;
}

object settings_json(const Settings& settings) {
  array orders;
  for (const auto order : settings.orders) {
    orders.emplace_back(order == OrderBy::id ? "id" : "created_at");
  }
  return {{"seconds", static_cast<double>(settings.length.count()) / 1'000},
          {"producers", settings.producers},
          {"relays", settings.relays},
          {"lanes", settings.lanes},
          {"in_flight", settings.in_flight},
          {"commit_every", settings.commit_every()},
          {"hold_key", settings.hold_key},
          {"orders", std::move(orders)},
          {"kill", settings.kill},
          {"freeze", settings.freeze},
          {"terminate_backends", settings.terminate_backends},
          {"restart_server", static_cast<bool>(settings.restart_server)},
          {"promote", static_cast<bool>(settings.promote)},
          {"net", settings.net}};
}

std::string by_key_text(const Settings& settings, const Verdict& verdict) {
  if (!settings.by_key()) return "";
  return ", keys held " + std::to_string(verdict.keys_held) + ", calls at once " +
         std::to_string(verdict.at_once) + ", most repeated by one holder " +
         std::to_string(verdict.repeated_by_one);
}

std::string list(const std::map<std::string, std::uint64_t>& all) {
  std::string text;
  for (const auto& [name, count] : all) {
    text += (text.empty() ? "" : ", ") + name + ' ' + std::to_string(count);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string report_json(const Settings& settings, const Report& report) {
  object out{{"seed", settings.seed},
             {"verdict", verdict_of(report)},
             {"committed", report.sum(&Verdict::committed)},
             {"delivered", report.sum(&Verdict::delivered)},
             {"repeated", report.sum(&Verdict::repeated)},
             {"late_calls", report.sum(&Verdict::late_calls)},
             {"keys_held", report.sum(&Verdict::keys_held)},
             {"at_once", report.most(&Verdict::at_once)},
             {"repeated_by_one", report.most(&Verdict::repeated_by_one)}};
  for (const auto& [kind, unused] : Verdict().kinds()) {
    std::size_t total = 0;
    for (const auto& stream : report.streams) {
      for (const auto& [name, found] : stream.verdict.kinds()) {
        if (name == kind) total += found->size();
      }
    }
    out[kind] = total;
  }
  array streams;
  for (const auto& stream : report.streams) streams.push_back(stream_json(stream));
  out["streams"] = std::move(streams);
  out["latency_ms"] = object{{"measured", report.latency.measured},
                             {"p50", report.latency.p50_ms},
                             {"p90", report.latency.p90_ms},
                             {"p99", report.latency.p99_ms},
                             {"max", report.latency.max_ms}};
  out["transactions"] = counts(report.shapes);
  out["faults"] = counts(report.faults);
  out["left_out"] = texts(report.left_out);
  out["problems"] = texts(report.problems);
  out["interrupted"] = report.interrupted;
  out["server_version"] = report.server;
  out["seconds"] = static_cast<double>(report.took.count()) / 1'000;
  out["settings"] = settings_json(settings);
  return boost::json::serialize(out) + '\n';
}

std::string report_text(const Settings& settings, const Report& report) {
  std::string text = "\nPostgreSQL " + report.server + ", seed " + std::to_string(settings.seed) +
                     ", " + std::to_string(report.took.count() / 1'000) + " s" +
                     (report.interrupted ? ", interrupted" : "") + '\n';
  text += "transactions  " + list(report.shapes) + '\n';
  text += "faults        " + list(report.faults) + '\n';
  for (const auto& one : report.left_out) text += "left out      " + one + '\n';
  for (const auto& stream : report.streams) {
    const auto& verdict = stream.verdict;
    text += stream.process + ": committed " + std::to_string(verdict.committed) + ", delivered " +
            std::to_string(verdict.delivered) + ", lost " + std::to_string(verdict.lost.size()) +
            ", reordered " + std::to_string(verdict.reordered.size()) + ", repeated " +
            std::to_string(verdict.repeated) + ", late calls " +
            std::to_string(verdict.late_calls) + by_key_text(settings, verdict) + '\n' +
            verdict.violations();
  }
  for (const auto& problem : report.problems) text += "problem       " + problem + '\n';
  text += "commit to call, of " + std::to_string(report.latency.measured) + " rows: p50 " +
          milliseconds_text(report.latency.p50_ms) + ", p90 " +
          milliseconds_text(report.latency.p90_ms) + ", p99 " +
          milliseconds_text(report.latency.p99_ms) + ", longest " +
          milliseconds_text(report.latency.max_ms) + '\n';
  return text + "VERDICT: " + verdict_of(report) + '\n';
}

}  // namespace seriatim::torture
