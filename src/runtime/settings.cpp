#include "seriatim/settings.hpp"

namespace seriatim {

namespace {

/// A setting as a value of a configuration. `where` is what its problems begin with.
class AsValue {
 public:
  AsValue(std::string where, std::string path) : where_(std::move(where)), path_(std::move(path)) {}

  Options::Value operator()(const std::vector<std::string>& texts) const {
    Options::List list;
    for (const auto& text : texts) list.push_back({text, where_});
    return {std::move(list), where_};
  }
  Options::Value operator()(const Settings& table) const {
    return {std::make_shared<Options::Table>(*table.table(path_)), where_};
  }
  template <class Plain>
  Options::Value operator()(const Plain& plain) const {
    return {plain, where_};
  }

 private:
  std::string where_;
  std::string path_;
};

}  // namespace

Settings::Settings(std::initializer_list<std::pair<std::string, Setting>> entries)
    : entries_(entries) {}

void Settings::set(std::string key, Setting value) {
  entries_.emplace_back(std::move(key), std::move(value));
}

std::shared_ptr<const Options::Table> Settings::table(const std::string& path) const {
  auto table = std::make_shared<Options::Table>();
  table->where = "settings";
  table->path = path;
  for (const auto& [key, setting] : entries_) {
    table->values.insert_or_assign(
        key, std::visit(AsValue("settings", path + '.' + key), setting.value));
  }
  return table;
}

}  // namespace seriatim
