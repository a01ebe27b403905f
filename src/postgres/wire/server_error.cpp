#include "postgres/wire/server_error.hpp"

#include <initializer_list>
#include <string_view>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

namespace {

bool starts_with_any(const std::string& state, std::initializer_list<std::string_view> prefixes) {
  for (const auto prefix : prefixes) {
    if (state.compare(0, prefix.size(), prefix) == 0) return true;
  }
  return false;
}

/// Errors of the moment: connection, conflict with others, resources, shutdown, storage hiccups.
bool may_work_later(const std::string& sqlstate) {
  return sqlstate.empty() || starts_with_any(sqlstate, {"08", "25", "40", "53", "55", "57", "58"});
}

/// P0 and 38: raised by a user's function, which an expression over the row may call.
bool is_about_data(const std::string& sqlstate) {
  return starts_with_any(sqlstate, {"22", "38", "54", "P0", "XX001", "XX002"});
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (auto& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

[[noreturn]] void throw_for(const std::string& message, const std::string& sqlstate) {
  const auto what = first_line(message);
  if (may_work_later(sqlstate)) {
    throw SessionLost(sqlstate.empty() ? what : what + " (SQLSTATE " + sqlstate + ")", sqlstate);
  }
  const bool schema_missing = what.find("seriatim.") != std::string::npos &&
                              starts_with_any(sqlstate, {"42P01", "3F000", "42883"});
  const bool no_schema = what.find("schema \"seriatim\"") != std::string::npos;
  const std::string advice = schema_missing || (no_schema && sqlstate == "3F000")
                                 ? "; schema seriatim is not installed here: run `seriatim init`"
                                 : "";
  throw SourceBroken(is_about_data(sqlstate) ? HaltReason::bad_payload : HaltReason::source_changed,
                     what + " (SQLSTATE " + sqlstate + ")" + advice, sqlstate);
}

/// libpq gives no SQLSTATE for a connection that is refused, so the English text has to do.
bool is_at_limit(const std::string& what) {
  for (const auto* text : {"too many clients already", "too many connections for",
                           "remaining connection slots are reserved"}) {
    if (what.find(text) != std::string::npos) return true;
  }
  return false;
}

constexpr const char* at_limit_advice =
    "; the connection limit is reached: lanes that have a connection go on, others wait for one. "
    "End sessions that are not needed (pg_stat_activity), or raise the limit (max_connections, or "
    "CONNECTION LIMIT of the role or the database)";

template <class E>
bool is_a(const std::exception& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

}  // namespace

std::string first_line(const std::string& text) {
  return one_line(text.substr(0, text.find('\n')));
}

std::string sqlstate_of(const pqxx::sql_error& e) {
  if (!e.sqlstate().empty()) return e.sqlstate();
  if (is_a<pqxx::insufficient_privilege>(e)) return "42501";
  if (is_a<pqxx::undefined_table>(e)) return "42P01";
  if (is_a<pqxx::undefined_column>(e)) return "42703";
  if (is_a<pqxx::undefined_function>(e)) return "42883";
  if (is_a<pqxx::syntax_error>(e)) return "42601";
  if (is_a<pqxx::data_exception>(e)) return "22000";
  if (is_a<pqxx::integrity_constraint_violation>(e)) return "23000";
  if (is_a<pqxx::feature_not_supported>(e)) return "0A000";
  if (is_a<pqxx::disk_full>(e)) return "53100";
  if (is_a<pqxx::out_of_memory>(e)) return "53200";
  return "";
}

void rethrow_translated() {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const pqxx::serialization_failure& e) {  // before sql_error: in libpqxx 7 it is one
    throw_for(e.what(), "40001");
  } catch (const pqxx::deadlock_detected& e) {
    throw_for(e.what(), "40P01");
  } catch (const pqxx::sql_error& e) {
    throw_for(e.what(), sqlstate_of(e));
  } catch (const pqxx::too_many_connections& e) {
    throw_for(e.what(), "53300");
  } catch (const std::exception& e) {  // broken connection, in doubt, and what libpqxx cannot name
    const auto what = one_line(e.what());
    if (is_at_limit(what)) throw_for(what + at_limit_advice, "53300");
    throw SessionLost(what);
  }
}

}  // namespace seriatim::postgres
