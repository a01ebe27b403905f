#include "seriatim/options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "runtime/nearest.hpp"

namespace seriatim {

namespace {

struct Unit {
  std::string_view suffix;
  std::int64_t factor;
};

/// "<digits><suffix>" in the smallest unit; empty when malformed or over `max`.
std::optional<std::int64_t> with_unit(std::string_view text, const std::vector<Unit>& units,
                                      std::int64_t max) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 0) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& unit : units) {
    if (unit.suffix == suffix && count <= max / unit.factor) return count * unit.factor;
  }
  return std::nullopt;
}

const std::vector<Unit> duration_units{
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
const std::vector<Unit> byte_units{
    {"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
constexpr std::int64_t duration_max = 366LL * 24 * 3'600'000;

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += ", ";
    text += '"' + std::string(word) + '"';
  }
  return text;
}

}  // namespace

void Problems::add(std::string where, std::string_view what) {
  lines_.push_back(std::move(where) + ": " + std::string(what));
}

std::string Problems::text() const {
  std::string text;
  for (const auto& line : lines_) text += (text.empty() ? "" : "\n") + line;
  return text;
}

Options::Options(std::shared_ptr<const Table> table, Problems& problems)
    : table_(std::move(table)), problems_(&problems) {}

const Options::Value* Options::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  const auto found = table_->values.find(key);
  return found == table_->values.end() ? nullptr : &found->second;
}

bool Options::has(std::string_view key) {
  return find(key) != nullptr;
}

std::string Options::text(std::string_view key, std::string fallback) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* text = std::get_if<std::string>(&value->data)) return *text;
  problem(key, "must be text in quotes");
  return fallback;
}

std::string Options::text_or_integer(std::string_view key, std::string fallback) {
  const auto* value = find(key);
  const auto* number = value ? std::get_if<std::int64_t>(&value->data) : nullptr;
  return number ? std::to_string(*number) : text(key, std::move(fallback));
}

std::string Options::required_text(std::string_view key) {
  if (!has(key)) {
    problem(key, "is missing");
    return {};
  }
  auto value = text(key);
  if (value.empty() && std::holds_alternative<std::string>(find(key)->data)) {
    problem(key, "must not be empty");
  }
  return value;
}

bool Options::flag(std::string_view key, bool fallback) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* flag = std::get_if<bool>(&value->data)) return *flag;
  problem(key, "must be true or false");
  return fallback;
}

std::int64_t Options::integer(std::string_view key, std::int64_t fallback, std::int64_t min,
                              std::int64_t max) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  const auto* number = std::get_if<std::int64_t>(&value->data);
  if (number != nullptr && *number >= min && *number <= max) return *number;
  problem(key, "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return fallback;
}

std::chrono::milliseconds Options::duration(std::string_view key,
                                            std::chrono::milliseconds fallback) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  const auto* text = std::get_if<std::string>(&value->data);
  const auto count = text ? with_unit(*text, duration_units, duration_max) : std::nullopt;
  if (count) return std::chrono::milliseconds(*count);
  problem(key, R"(must be a duration with its unit, such as "200ms", "10s", "5m" or "1h")");
  return fallback;
}

std::size_t Options::bytes(std::string_view key, std::size_t fallback) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* number = std::get_if<std::int64_t>(&value->data); number && *number >= 0) {
    return static_cast<std::size_t>(*number);
  }
  const auto* text = std::get_if<std::string>(&value->data);
  const auto count =
      text ? with_unit(*text, byte_units, std::numeric_limits<std::int64_t>::max()) : std::nullopt;
  if (count) return static_cast<std::size_t>(*count);
  problem(key, R"(must be a size, such as "64KiB" or "16MiB", or a count of bytes)");
  return fallback;
}

std::size_t Options::choice(std::string_view key, std::size_t fallback,
                            const std::vector<std::string_view>& choices) {
  const auto* value = find(key);
  if (value == nullptr) return fallback;
  const auto* text = std::get_if<std::string>(&value->data);
  const auto found = text ? std::find(choices.begin(), choices.end(), *text) : choices.end();
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  problem(key, "must be one of " + joined(choices));
  return fallback;
}

std::vector<std::string> Options::texts(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::string> texts;
  const auto* list = std::get_if<List>(&value->data);
  bool fits = list != nullptr;
  for (std::size_t i = 0; fits && i < list->size(); ++i) {
    const auto* text = std::get_if<std::string>(&(*list)[i].data);
    fits = text != nullptr;
    if (fits) texts.push_back(*text);
  }
  if (!fits) problem(key, R"(must be a list of texts, such as ["a", "b"])");
  return texts;
}

std::map<std::string, std::string> Options::text_table(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return {};
  std::map<std::string, std::string> texts;
  const auto* table = std::get_if<std::shared_ptr<Table>>(&value->data);
  if (table == nullptr) {
    problem(key, R"(must be a table of texts, such as { "X-Name" = "value" })");
    return {};
  }
  for (const auto& [name, item] : (*table)->values) {
    if (const auto* text = std::get_if<std::string>(&item.data)) {
      texts.emplace(name, *text);
    } else {
      problems_->add(item.where + ": " + (*table)->path + '.' + name, "must be text in quotes");
    }
  }
  return texts;
}

Options Options::table(std::string_view key) {
  const auto* value = find(key);
  if (value != nullptr) {
    if (const auto* table = std::get_if<std::shared_ptr<Table>>(&value->data)) {
      return {*table, *problems_};
    }
    problem(key, "must be a table");
  }
  auto empty = std::make_shared<Table>();
  empty->where = table_->where;
  empty->path = table_->path.empty() ? std::string(key) : table_->path + '.' + std::string(key);
  return {std::move(empty), *problems_};
}

std::vector<Options> Options::tables(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return {};
  std::vector<Options> tables;
  const auto* list = std::get_if<List>(&value->data);
  bool fits = list != nullptr;
  for (std::size_t i = 0; fits && i < list->size(); ++i) {
    const auto* table = std::get_if<std::shared_ptr<Table>>(&(*list)[i].data);
    fits = table != nullptr;
    if (fits) tables.push_back({*table, *problems_});
  }
  if (!fits) problem(key, "must be an array of tables, written [[" + std::string(key) + "]]");
  return tables;
}

void Options::problem(std::string_view key, std::string_view what) {
  const auto found = table_->values.find(key);
  const auto& where = found == table_->values.end() ? table_->where : found->second.where;
  const auto path = table_->path.empty() ? std::string(key) : table_->path + '.' + std::string(key);
  problems_->add(where + ": " + path, what);
}

void Options::finish() {
  for (const auto& [name, value] : table_->values) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const auto meant = runtime::nearest(name, asked_);
    problem(name, meant ? "unknown key; did you mean \"" + *meant + "\"?" : "unknown key");
  }
}

}  // namespace seriatim
