#include "support/json_value.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <utility>
#include <vector>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

namespace json = boost::json;
using Kind = JsonValue::Kind;

/// What the parser asks of every receiver of its events, and nothing more.
class Ignorer {
 public:
  using error_code = boost::system::error_code;
  using view = json::string_view;

  static constexpr auto max_object_size = static_cast<std::size_t>(-1);
  static constexpr auto max_array_size = static_cast<std::size_t>(-1);
  static constexpr auto max_key_size = static_cast<std::size_t>(-1);
  static constexpr auto max_string_size = static_cast<std::size_t>(-1);

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t, error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(view, std::size_t, error_code&) { return true; }
  bool on_key(view, std::size_t, error_code&) { return true; }
  bool on_string_part(view, std::size_t, error_code&) { return true; }
  bool on_string(view, std::size_t, error_code&) { return true; }
  bool on_number_part(view, error_code&) { return true; }
  bool on_int64(std::int64_t, view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, view, error_code&) { return true; }
  bool on_double(double, view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(view, error_code&) { return true; }
  bool on_comment(view, error_code&) { return true; }
};

/// Grows the tree from the events. The parser's own numbers are not used: a double would not
/// keep the digits.
class Builder : public Ignorer {
 public:
  JsonValue take() { return std::move(root_); }

  bool on_object_begin(error_code&) { return open(Kind::object); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(Kind::list); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_key_part(view part, std::size_t, error_code&) { return gather(part); }
  bool on_key(view part, std::size_t, error_code&) {
    gather(part);
    frames_.back().key = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(view part, std::size_t, error_code&) { return gather(part); }
  bool on_string(view part, std::size_t, error_code&) { return add_text(Kind::text, part); }
  bool on_number_part(view part, error_code&) { return gather(part); }
  bool on_int64(std::int64_t, view part, error_code&) { return add_text(Kind::number, part); }
  bool on_uint64(std::uint64_t, view part, error_code&) { return add_text(Kind::number, part); }
  bool on_double(double, view part, error_code&) { return add_text(Kind::number, part); }
  bool on_bool(bool value, error_code&) {
    return add_text(Kind::boolean, value ? "true" : "false");
  }
  bool on_null(error_code&) { return add({}); }

 private:
  struct Frame {
    JsonValue value;
    std::string key;
  };

  bool gather(view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool add_text(Kind kind, view part) {
    gather(part);
    JsonValue value;
    value.kind = kind;
    value.text = std::exchange(text_, {});
    return add(std::move(value));
  }

  bool open(Kind kind) {
    frames_.emplace_back().value.kind = kind;
    return true;
  }

  bool close() {
    auto value = std::move(frames_.back().value);
    frames_.pop_back();
    return add(std::move(value));
  }

  bool add(JsonValue value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (auto& frame = frames_.back(); frame.value.kind == Kind::list) {
      frame.value.items.push_back(std::move(value));
    } else {
      frame.value.members.insert_or_assign(std::move(frame.key), std::move(value));
    }
    return true;
  }

  JsonValue root_;
  std::vector<Frame> frames_;
  std::string text_;
};

template <class Handler>
boost::system::error_code parse(json::basic_parser<Handler>& parser, std::string_view text) {
  boost::system::error_code error;
  const auto read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  return error;
}

json::parse_options options() {
  json::parse_options options;
  options.max_depth = json_depth_max;
  return options;
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto found = members.find(name);
  return found == members.end() ? nullptr : &found->second;
}

JsonValue parse_json(std::string_view text) {
  json::basic_parser<Builder> parser(options());
  if (const auto error = parse(parser, text)) {
    throw CannotRender("the payload is not JSON: " + error.message());
  }
  return parser.handler().take();
}

std::string json_problem(std::string_view text) {
  json::basic_parser<Ignorer> parser(options());
  const auto error = parse(parser, text);
  return error ? error.message() : std::string();
}

}  // namespace seriatim::handlers
