#include "app/config_tree.hpp"

#include <toml++/toml.h>

#include <optional>

namespace seriatim::app {

namespace {

/// Walks what toml++ parsed.
class Reader {
 public:
  Reader(const std::string& file, const Environment& environment, Secrets& secrets,
         Problems& problems)
      : file_(file), environment_(environment), secrets_(secrets), problems_(problems) {}

  std::shared_ptr<Options::Table> table(const toml::table& source, const std::string& path) {
    auto result = std::make_shared<Options::Table>();
    result->where = where(source);
    result->path = path;
    for (const auto& [key, node] : source) {
      const std::string name(key.str());
      const auto at = file_ + ':' + std::to_string(key.source().begin.line);
      if (auto item = value(node, path.empty() ? name : path + '.' + name, name)) {
        item->where = at;
        result->values.emplace(name, std::move(*item));
      }
    }
    return result;
  }

 private:
  std::optional<Options::Value> value(const toml::node& node, const std::string& path,
                                      std::string_view name) {
    Options::Value result;
    result.where = where(node);
    if (const auto* flag = node.as_boolean()) {
      result.data = flag->get();
    } else if (const auto* integer = node.as_integer()) {
      result.data = integer->get();
    } else if (const auto* number = node.as_floating_point()) {
      result.data = number->get();
    } else if (const auto* text = node.as_string()) {
      result.data = string(text->get(), path, name, result.where);
    } else if (const auto* list = node.as_array()) {
      result.data = array(*list, path, name);
    } else if (const auto* nested = node.as_table()) {
      result.data = table(*nested, path);
    } else {
      problems_.add(result.where + ": " + path,
                    "dates and times are not used here; put it in quotes");
      return std::nullopt;
    }
    return result;
  }

  Options::List array(const toml::array& source, const std::string& path, std::string_view name) {
    Options::List list;
    for (const auto& node : source) {
      if (auto item = value(node, path, name)) list.push_back(std::move(*item));
    }
    return list;
  }

  std::string string(const std::string& source, const std::string& path, std::string_view name,
                     const std::string& at) {
    auto result = substitute(source, environment_);
    for (const auto& problem : result.problems) problems_.add(at + ": " + path, problem);
    for (const auto& [variable, used] : result.used) {
      if (names_a_secret(variable)) secrets_.learn(used);
    }
    if (names_a_secret(name)) secrets_.learn(result.text);
    secrets_.learn_from_url(result.text);
    return std::move(result.text);
  }

  std::string where(const toml::node& node) const {
    const auto line = node.source().begin.line;
    return file_ + ':' + std::to_string(line == 0 ? 1 : line);
  }

  const std::string& file_;
  const Environment& environment_;
  Secrets& secrets_;
  Problems& problems_;
};

}  // namespace

std::shared_ptr<const Options::Table> read_toml(std::string_view text, const std::string& file,
                                                const Environment& environment, Secrets& secrets,
                                                Problems& problems) {
  try {
    return Reader(file, environment, secrets, problems).table(toml::parse(text), "");
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    problems.add(file + ':' + std::to_string(at.line) + ':' + std::to_string(at.column),
                 std::string("is not TOML: ") + std::string(error.description()));
    auto empty = std::make_shared<Options::Table>();
    empty->where = file + ":1";
    return empty;
  }
}

}  // namespace seriatim::app
