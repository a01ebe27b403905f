#pragma once

#include <pqxx/except>
#include <string>

namespace seriatim::postgres {

/// Turns what libpqxx threw into SessionLost or SourceBroken. Call inside a catch block.
[[noreturn]] void rethrow_translated();

/// libpqxx 6 drops the SQLSTATE of some of its classes; the class then represents it.
[[nodiscard]] std::string sqlstate_of(const pqxx::sql_error& e);

/// The server's first line alone: DETAIL and CONTEXT quote rows.
[[nodiscard]] std::string first_line(const std::string& text);

}  // namespace seriatim::postgres
