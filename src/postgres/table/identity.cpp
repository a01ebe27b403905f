#include "postgres/table/identity.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

/// Nothing where the server lacks the function, refuses it to our role, or has no answer.
std::optional<std::string> ask(Connection& connection, std::string_view question) {
  try {
    const auto answer = connection.run(question);
    if (!answer.empty() && !answer[0][0].is_null()) return answer[0][0].as<std::string>();
  } catch (const SourceBroken&) {
  }
  return std::nullopt;
}

/// One kind of change, the graver ones first; the first that applies says it all.
struct Meaning {
  std::string_view key;
  HaltReason reason;
  std::string_view part;
  std::string_view means;
};

constexpr std::array<Meaning, 9> meanings{{
    {"system", HaltReason::source_changed, "this is another server: its system identifier",
     "rows were dumped and restored, upgraded with pg_upgrade, or this is another copy"},
    {"timeline", HaltReason::source_changed, "the server's timeline",
     "a standby was promoted or a backup restored: rows that were delivered may be missing, and "
     "the "
     "cursor may be older than what was delivered"},
    {"database", HaltReason::source_changed, "this is another database of the server: its oid",
     "it was copied, or dropped and restored"},
    {"table", HaltReason::config_changed, "the process's table",
     "its cursor says how far the other was read"},
    {"table_oid", HaltReason::source_changed, "the table was made anew: its oid",
     "it was dropped, restored or replaced: the cursor says how far the former was read"},
    {"order_by", HaltReason::config_changed, "order_by",
     "rows after the cursor in one order may be before it in the other"},
    {"id", HaltReason::config_changed, "the id column", "the cursor holds an id of the other"},
    {"created_at", HaltReason::config_changed, "the created_at column",
     "the cursor holds a time of the other"},
    {"key", HaltReason::config_changed, "the key",
     "a row may have another lane now, whose cursor is behind it, or beyond: it would go out "
     "twice, "
     "or be late. Set the former key, cut the process into one lane (seriatim lanes PROCESS 1), "
     "then "
     "change the key and cut it again"},
}};

}  // namespace

std::string read_system_identifier(Connection& connection) {
  return ask(connection, sql::table::system_identifier).value_or("");
}

namespace {

/// White space and comments outside quotes decide nothing.
std::string normalized(const std::string& expression) {
  std::string text;
  char quote = 0;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const bool comment = quote == 0 && expression.compare(i, 2, "--") == 0;
    if (comment) i = std::min(expression.find('\n', i), expression.size() - 1);
    if (comment || (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0)) {
      if (!text.empty() && text.back() != ' ') text += ' ';
      continue;
    }
    if (quote == 0 ? c == '\'' || c == '"' : c == quote) quote = quote == 0 ? c : char{0};
    text += c;
  }
  if (quote == 0 && text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

std::string read_identity(Connection& connection, const Table& table, const SourceConfig& config) {
  const char* order = config.order_by == OrderBy::id ? "id" : "created_at";
  return connection
      .run(sql::table::source_identity,
           {ask(connection, sql::table::system_identifier), ask(connection, sql::table::timeline),
            table.name, table.oid, order, table.id, table.created_at, normalized(table.where),
            normalized(config.key), normalized(config.payload)})[0][0]
      .as<std::string>();
}

const IdentityChange* find_change(const std::vector<IdentityChange>& changes,
                                  std::string_view part) {
  const auto found =
      std::find_if(changes.begin(), changes.end(), [&](const auto& c) { return c.key == part; });
  return found == changes.end() ? nullptr : &*found;
}

std::optional<IdentityMismatch> judge_identity(const std::vector<IdentityChange>& changes,
                                               unsigned lanes) {
  for (const auto& [key, reason, part, means] : meanings) {
    const auto* change = find_change(changes, key);
    if (change == nullptr || (key == "key" && lanes == 1)) continue;
    auto what = std::string(part) + " was " + change->noted + " and is " + change->seen + ": " +
                std::string(means);
    if (key == "table" && find_change(changes, "table_oid") == nullptr)
      what += "; it was only renamed";
    return IdentityMismatch{reason, what, key != "key"};
  }
  return std::nullopt;
}

std::vector<IdentityChange> read_identity_changes(Connection& connection,
                                                  const std::string& process,
                                                  const std::string& identity,
                                                  std::optional<unsigned> lane) {
  const auto lane_text = lane ? std::optional(std::to_string(*lane)) : std::nullopt;
  std::vector<IdentityChange> changes;
  for (const auto& row :
       connection.run(sql::table::identity_changes, {process, identity, lane_text})) {
    changes.push_back({row["key"].as<std::string>(), row["noted"].as<std::string>(),
                       row["seen"].as<std::string>()});
  }
  return changes;
}

}  // namespace seriatim::postgres
