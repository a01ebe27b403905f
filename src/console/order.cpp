#include "console/order.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <limits>

namespace seriatim::console {

namespace {

namespace json = boost::json;

constexpr std::size_t reason_bytes_max = 2'000;

/// What an act takes, next to a reason, a preview and what was seen.
struct Form {
  std::string_view act;
  bool lane = false;     ///< may name one
  bool row = false;      ///< may name one
  bool several = false;  ///< … or a key, or all
  bool place = false;    ///< must name one
  bool needs_reason = true;
};
constexpr std::array<Form, 7> forms{{{"retry", true, false, false, false, false},
                                     {"pause", true, false, false, false, false},
                                     {"resume", true, false, false, false, false},
                                     {"skip", false, true},
                                     {"redrive", false, true, true},
                                     {"discard", false, true, true},
                                     {"rewind", false, false, false, true}}};

/// The members of an object by name; `finish` refuses those nobody asked for.
class Members {
 public:
  Members(const json::object& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  [[nodiscard]] const json::value* find(std::string_view name) {
    asked_.emplace_back(name);
    const auto* value = object_.if_contains(name);
    return value && !value->is_null() ? value : nullptr;
  }
  [[nodiscard]] bool has(std::string_view name) { return find(name) != nullptr; }

  std::optional<std::string> text(std::string_view name) {
    const auto* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_string()) throw wrong(name, "is no text", "put it in quotes");
    std::string text(value->get_string());
    if (text.find('\0') != std::string::npos) throw wrong(name, "holds a NUL", "remove it");
    return text;
  }
  template <class Number>
  std::optional<Number> number(std::string_view name) {
    const auto* value = find(name);
    if (!value) return std::nullopt;
    boost::system::error_code error;
    const auto number = value->is_number() ? value->to_number<std::uint64_t>(error) : 0;
    if (!value->is_number() || error || number > std::numeric_limits<Number>::max()) {
      throw wrong(name, "is no whole number from 0", "send it without quotes");
    }
    return static_cast<Number>(number);
  }
  bool flag(std::string_view name) {
    const auto* value = find(name);
    if (!value) return false;
    if (!value->is_bool()) throw wrong(name, "is neither true nor false", "send one of them");
    return value->get_bool();
  }
  void finish() const {
    for (const auto& member : object_) {
      const std::string name(member.key());
      if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
        throw wrong(name, "is not known here", "leave it out");
      }
    }
  }
  [[nodiscard]] Refused wrong(std::string_view name, std::string_view what,
                              const std::string& remedy) const {
    return Refused(where_ + std::string(name) + ' ' + std::string(what), remedy);
  }

 private:
  const json::object& object_;
  std::string where_;
  std::vector<std::string> asked_;
};

json::object object_in(std::string_view body, const std::string& example) {
  boost::system::error_code error;
  auto value = json::parse(body, error);
  if (!error && value.is_object()) return std::move(value.get_object());
  throw Refused("the body is no JSON object", "send one, such as " + example);
}

const Form& form_of(Members& body) {
  const auto act = body.text("act").value_or("");
  const auto* found =
      std::find_if(forms.begin(), forms.end(), [&](const Form& form) { return form.act == act; });
  if (found == forms.end()) {
    throw body.wrong("act", "is none of ours: \"" + act + '"',
                     "send retry, pause, resume, skip, redrive, discard or rewind");
  }
  return *found;
}

Order::Seen seen_of(Members& body) {
  const auto* value = body.find("expect");
  if (!value) return {};
  if (!value->is_object()) throw body.wrong("expect", "is no object", "send what you saw");
  Members members(value->get_object(), "expect.");
  Order::Seen seen;
  seen.lane = members.number<unsigned>("lane");
  seen.epoch = members.number<std::uint64_t>("epoch");
  seen.state = members.text("state");
  seen.row = members.text("row");
  seen.attempts = members.number<unsigned>("attempts");
  seen.count = members.number<std::uint64_t>("count");
  seen.plan = members.text("plan");
  members.finish();
  return seen;
}

/// What the act is about: each act takes some of it, and needs some.
void check_object(const Order& order, const Form& form, const Members& body) {
  if (order.lane && order.seen.lane && *order.lane != *order.seen.lane) {
    throw body.wrong("expect.lane", "is another lane than lane", "send the same");
  }
  const auto what = "does not belong to " + order.act;
  if (order.lane && !form.lane) throw body.wrong("lane", what, "leave it out");
  if (order.row && !form.row) throw body.wrong("row", what, "leave it out");
  if (order.key && !form.several) throw body.wrong("key", what, "leave it out");
  if (order.all && !form.several) throw body.wrong("all", what, "leave it out");
  if (!order.place.empty() && !form.place) throw body.wrong("place", what, "leave it out");
  if (form.place && order.place.empty()) {
    throw body.wrong("place", "is missing", "say where to rewind to, as `seriatim rewind --to`");
  }
  const int named = int{order.row.has_value()} + int{order.key.has_value()} + int{order.all};
  if (form.row && named != 1) {
    throw Refused(
        order.act + " needs exactly one of " + (form.several ? "row, key and all" : "row"),
        "name what it is about");
  }
}

std::string reason_of(Members& body) {
  auto reason = body.text("reason").value_or("");
  if (reason.size() > reason_bytes_max) {
    throw body.wrong("reason", "has more than 2000 bytes", "be brief");
  }
  return reason;
}

void check_reason(const Order& order, const Form& form, const Members& body) {
  const bool blank = order.reason.find_first_not_of(" \t\r\n") == std::string::npos;
  if (form.needs_reason && blank && !order.preview) {
    throw body.wrong("reason", "is missing", "say why: the journal keeps it");
  }
}

/// What is wide is done only as it was previewed, by someone who typed what it concerns.
void check_confirmed(const Order& order, const std::string& confirm, const Members& body) {
  const bool wide = order.act == "rewind" || (order.act == "discard" && order.all);
  if (!wide || order.preview) return;
  if (!order.seen.plan) {
    throw Refused("expect.plan is missing", "ask for a preview, and send the plan it answers");
  }
  if (confirm != order.process) {
    throw body.wrong("confirm", "is not the name of the process", "send " + order.process);
  }
}

}  // namespace

Order order_of(const std::string& process, std::string_view body) {
  const auto value = object_in(body, R"({"act": "retry"})");
  Members members(value, "");
  const auto& form = form_of(members);
  Order order;
  order.process = process;
  order.act = form.act;
  order.lane = members.number<unsigned>("lane");
  order.row = members.text("row");
  order.key = members.text("key");
  order.all = members.flag("all");
  order.place = members.text("place").value_or("");
  order.seen = seen_of(members);
  order.reason = reason_of(members);
  order.preview = members.flag("preview");
  const auto confirm = members.text("confirm").value_or("");
  members.finish();
  check_object(order, form, members);
  check_reason(order, form, members);
  check_confirmed(order, confirm, members);
  return order;
}

Glance glance_of(std::string_view body) {
  const auto value = object_in(body, R"({"row": "4711"})");
  Members members(value, "");
  const auto row = members.text("row");
  if (!row) throw members.wrong("row", "is missing", R"(send {"row": "4711"})");
  Glance glance{*row, reason_of(members)};
  members.finish();
  return glance;
}

}  // namespace seriatim::console
