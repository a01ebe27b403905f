#include "support/template.hpp"

#include <deque>
#include <kainjow/mustache.hpp>
#include <map>
#include <optional>
#include <vector>

#include "support/cannot_render.hpp"
#include "support/encoding.hpp"
#include "support/header_text.hpp"
#include "support/json_value.hpp"
#include "support/template_text.hpp"
#include "support/time_text.hpp"

namespace seriatim::handlers {

namespace {

namespace mustache = kainjow::mustache;
using Data = mustache::data;

std::string_view take_segment(std::string_view& name) {
  const auto dot = name.find('.');
  const auto segment = name.substr(0, dot);
  name.remove_prefix(dot == std::string_view::npos ? name.size() : dot + 1);
  return segment;
}

const Data* dig(const Data* data, std::string_view name) {
  while (data && !name.empty()) data = data->get(std::string(take_segment(name)));
  return data;
}

const JsonValue* dig(const JsonValue* value, std::string_view name) {
  while (value && !name.empty()) value = value->find(take_segment(name));
  return value;
}

Data to_data(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null: return Data(Data::type::invalid);
    case JsonValue::Kind::boolean: return Data(value.text == "true");
    case JsonValue::Kind::number:
    case JsonValue::Kind::text: return Data(value.text);
    case JsonValue::Kind::list: break;
    case JsonValue::Kind::object: {
      Data object;
      for (const auto& [name, member] : value.members) {
        // Absent, so that a section takes it for "no".
        if (member.kind != JsonValue::Kind::null) object[name] = to_data(member);
      }
      return object;
    }
  }
  Data list(Data::type::list);
  for (const auto& item : value.items) list.push_back(to_data(item));
  return list;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw CannotRender("the template needs {{" + name + "}}, which " + why);
}

}  // namespace

class TemplateValues::Impl {
 public:
  explicit Impl(const Record& record) : record_(record) {}

  /// What a section reads; null if there is none.
  const Data* find(std::string_view name) {
    const auto plain = plain_.find(name);
    if (plain != plain_.end()) return &plain->second;
    if (const auto text = text_of(name)) {
      return &plain_.emplace(name, Data(*text)).first->second;
    }
    auto rest = name;
    const auto first = take_segment(rest);
    if (first == "payload") return record_.payload ? payload(rest) : nullptr;
    return first == "headers" && !rest.empty() ? header(rest) : nullptr;
  }

  /// `{{payload}}` itself: the bytes as stored, whatever they are.
  const Data* whole_payload() { return record_.payload ? keep(Data(*record_.payload)) : nullptr; }

  const Data* keep(Data data) { return &kept_.emplace_back(std::move(data)); }

 private:
  /// Made when asked for: most templates read one or two.
  [[nodiscard]] std::optional<std::string> text_of(std::string_view name) const {
    if (name == "id") return record_.id();
    if (name == "process") return record_.process;
    if (name == "lane") return std::to_string(record_.lane);
    if (name == "event_type") return record_.event_type;
    if (name == "key") return record_.key;
    if (name == "sequence") return std::to_string(record_.sequence);
    if (name == "epoch") return std::to_string(record_.epoch);
    if (name == "attempt") return std::to_string(record_.attempt);
    if (name == "created_at") return rfc3339(record_.position.created_at_us);
    if (name == "previous_id") return record_.previous_id;
    if (name == "late" && record_.late) return "true";
    return std::nullopt;
  }

  const Data* payload(std::string_view path) {
    if (!payload_) payload_ = parse_json(*record_.payload);
    const auto* value = dig(&*payload_, path);
    return value && value->kind != JsonValue::Kind::null ? keep(to_data(*value)) : nullptr;
  }

  const Data* header(std::string_view name) {
    for (const auto& [key, value] : record_.headers) {
      if (same_header(key, name)) return keep(Data(value));
    }
    return nullptr;
  }

  const Record& record_;
  std::map<std::string, Data, std::less<>> plain_;
  std::optional<JsonValue> payload_;
  std::deque<Data> kept_;
};

namespace {

/// What kainjow asks for values: sections from the inside out, then the record.
class Context final : public mustache::basic_context<std::string> {
 public:
  explicit Context(TemplateValues::Impl& values) : values_(values) {}

  void push(const Data* data) override { sections_.push_back(data); }
  void pop() override { sections_.pop_back(); }
  const Data* get_partial(const std::string&) const override { return nullptr; }

  const Data* get(const std::string& name) const override {
    if (!name.starts_with(TemplateText::printed_mark)) return find(name);
    return printable(name.substr(1));
  }

 private:
  const Data* find(const std::string& name) const {
    if (name == ".") return sections_.empty() ? nullptr : sections_.back();
    for (auto section = sections_.rbegin(); section != sections_.rend(); ++section) {
      if (const auto* found = dig(*section, name)) return found;
    }
    return values_.find(name);
  }

  const Data* printable(const std::string& name) const {
    const auto* found = name == "payload" ? values_.whole_payload() : find(name);
    if (!found || found->is_invalid()) refuse(name, "this record lacks or has as null");
    if (found->is_bool())
      return values_.keep(Data(std::string(found->is_true() ? "true" : "false")));
    if (!found->is_string()) refuse(name, "is an object or a list here, not a value");
    return found;
  }

  TemplateValues::Impl& values_;
  std::vector<const Data*> sections_;
};

std::string as_is(const std::string& text) {
  return text;
}

mustache::mustache::escape_handler escape_of(Escaping escaping) {
  switch (escaping) {
    case Escaping::json: return [](const std::string& text) { return json_escape(text); };
    case Escaping::url: return [](const std::string& text) { return percent_encode(text); };
    case Escaping::none: break;
  }
  return as_is;
}

}  // namespace

TemplateValues::TemplateValues(const Record& record) : record_(record) {}
TemplateValues::~TemplateValues() = default;

class Template::Impl {
 public:
  Impl(const TemplateText& text, Escaping escaping)
      : constant_(!text.has_tags), text_(text.text), mustache_(text.text) {
    if (!mustache_.is_valid()) throw CannotRender("template: " + mustache_.error_message());
    if (escaping == Escaping::url && text.has_unescaped) {
      throw CannotRender("{{{…}}} and {{&…}} are not allowed here: values are always encoded");
    }
    mustache_.set_custom_escape(escape_of(escaping));
  }

  const bool constant_;
  const std::string text_;
  mustache::mustache mustache_;
};

Template::Template(const std::string& text, Escaping escaping)
    : impl_(std::make_unique<Impl>(prepare_template(text), escaping)) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::string Template::render(TemplateValues& values) const {
  if (impl_->constant_) return impl_->text_;
  if (!values.impl_) values.impl_ = std::make_unique<TemplateValues::Impl>(values.record_);
  Context context(*values.impl_);
  return impl_->mustache_.render(context);
}

bool Template::is_constant() const {
  return impl_->constant_;
}

}  // namespace seriatim::handlers
