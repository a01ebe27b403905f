#pragma once

#include <pqxx/pqxx>
#include <string>

namespace seriatim::postgres {

// Statements with values, in the words of the libpqxx that is here. From 7.10 on `exec` takes the
// values, and `exec_params` and `exec_prepared` are deprecated; libpqxx 6 has only those.

#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
pqxx::result exec_values(pqxx::transaction_base& work, const std::string& sql,
                         const auto&... values) {
  return work.exec(sql, pqxx::params(values...));
}
pqxx::result exec_known(pqxx::transaction_base& work, const std::string& name,
                        const auto&... values) {
  return work.exec(pqxx::prepped(name), pqxx::params(values...));
}
#else
pqxx::result exec_values(pqxx::transaction_base& work, const std::string& sql,
                         const auto&... values) {
  return work.exec_params(sql, values...);
}
pqxx::result exec_known(pqxx::transaction_base& work, const std::string& name,
                        const auto&... values) {
  return work.exec_prepared(name, values...);
}
#endif

}  // namespace seriatim::postgres
