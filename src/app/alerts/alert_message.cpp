#include "app/alerts/alert_message.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "app/text.hpp"

namespace seriatim::app {

namespace {

using boost::json::object;
using boost::json::value;
using postgres::AlertMessage;

object known_of(const AlertMessage& message) {
  boost::system::error_code wrong;
  auto known = boost::json::parse(message.body, wrong);
  return !wrong && known.is_object() ? std::move(known.as_object()) : object{};
}

/// As Slack wants it: what others wrote must not become a link, or call a channel.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string message_id(const AlertMessage& message) {
  return "seriatim-alert-" + message.alert + '-' + std::to_string(message.turn);
}

std::string message_type(const AlertMessage& message) {
  const auto* about = message.lane >= 0          ? "lane."
                      : !message.process.empty() ? "process."
                                                 : "server.";
  return std::string("seriatim.") + about + message.kind;
}

std::string message_json(const AlertMessage& message) {
  auto data = known_of(message);
  data["alert"] = message.alert;
  data["turn"] = message.turn;
  data["state"] = message.resolved_at ? "resolved" : "open";
  data["process"] = message.process.empty() ? value(nullptr) : value(message.process);
  data["lane"] = message.lane < 0 ? value(nullptr) : value(message.lane);
  data["kind"] = message.kind;
  data["summary"] = valid_utf8(message.summary);
  data["opened_at"] = message.opened_at;
  data["resolved_at"] = message.resolved_at ? value(*message.resolved_at) : value(nullptr);
  return boost::json::serialize(
      object{{"type", message_type(message)},
             {"timestamp", message.resolved_at.value_or(message.opened_at)},
             {"data", std::move(data)}});
}

std::string message_slack(const AlertMessage& message) {
  std::string text = (message.resolved_at ? "Over: " : "Alert: ") + valid_utf8(message.summary);
  const auto known = known_of(message);
  if (const auto* notes = known.if_contains("notes"); notes && !message.resolved_at) {
    for (const auto& note : notes->as_array()) {
      text += "\n• " + std::string(note.as_string());
    }
  }
  if (const auto* command = known.if_contains("command")) {
    text += "\n`" + std::string(command->as_string()) + '`';
  }
  return boost::json::serialize(object{{"text", escaped(text)}});
}

}  // namespace seriatim::app
