#include "lab/writers/session.hpp"

#include <charconv>
#include <pqxx/pqxx>
#include <pqxx/stream_to>

#include "sql/writers.hpp"

namespace seriatim::lab {

struct Session::Impl {
  explicit Impl(const std::string& url) : connection(url) {
#if PQXX_VERSION_MAJOR < 7
    connection.inhibit_reactivation(true);  // it would lose the settings of the session
#endif
  }
  pqxx::connection connection;
};

namespace {

template <class F>
auto translated(F&& work) {
  try {
    return work();
  } catch (const std::exception& failed) {
    const std::string text = failed.what();
    throw SqlFailed(text.substr(0, text.find('\n')));
  }
}

pqxx::result execute(pqxx::connection& connection, std::string_view sql,
                     const Session::Params& params) {
  pqxx::nontransaction work(connection);
  if (params.empty()) return work.exec(std::string(sql));
#if PQXX_VERSION_MAJOR >= 7
  pqxx::params values;
  for (const auto& param : params) values.append(param);
  return work.exec_params(std::string(sql), values);
#else
  return work.exec_params(std::string(sql), pqxx::prepare::make_dynamic_params(params));
#endif
}

}  // namespace

Session::Session(const std::string& url, const std::string& application, bool durable) {
  translated([&] {
    impl_ = std::make_unique<Impl>(url);
    return 0;
  });
  run(sql::writers::session, {application, durable ? "on" : "off"});
}

Session::~Session() = default;

std::vector<Session::Row> Session::run(std::string_view sql, const Params& params) {
  return translated([&] {
    std::vector<Row> rows;
    for (const auto& row : execute(impl_->connection, sql, params)) {
      auto& out = rows.emplace_back();
      for (const auto& field : row) {
        out.push_back(field.is_null() ? std::nullopt : std::optional<std::string>(field.c_str()));
      }
    }
    return rows;
  });
}

std::int64_t Session::number(std::string_view sql, const Params& params) {
  const auto rows = run(sql, params);
  std::int64_t value = 0;
  if (rows.empty() || rows[0].empty() || !rows[0][0]) return value;
  std::from_chars(rows[0][0]->data(), rows[0][0]->data() + rows[0][0]->size(), value);
  return value;
}

void Session::copy(const std::string& table, const Params& columns,
                   const std::vector<Params>& rows) {
  translated([&] {
    pqxx::nontransaction work(impl_->connection);
#if PQXX_VERSION_MAJOR >= 7
    auto stream = pqxx::stream_to::raw_table(
        work, table, pqxx::separated_list(", ", columns.begin(), columns.end()));
    for (const auto& row : rows) stream.write_values(row[0], row[1], row[2], row[3]);
#else
    pqxx::stream_to stream(work, table, columns);
    for (const auto& row : rows) {
      stream << std::make_tuple(row.at(0), row.at(1), row.at(2), row.at(3));
    }
#endif
    stream.complete();
    return 0;
  });
}

std::string Session::quoted(std::string_view text) const {
  return impl_->connection.quote(std::string(text));
}

std::string Session::host() const {
  const char* name = impl_->connection.hostname();
  return name == nullptr ? "" : name;
}

std::uint16_t Session::port() const {
  return static_cast<std::uint16_t>(std::stoul(impl_->connection.port()));
}

std::string fill(std::string_view sql,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string text(sql);
  for (const auto& [name, value] : values) {
    const auto placeholder = '{' + std::string(name) + '}';
    for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos;
         at += value.size()) {
      text.replace(at, placeholder.size(), value);
    }
  }
  return text;
}

}  // namespace seriatim::lab
