#include "lab/bench/database.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <charconv>

#include "seriatim/error.hpp"

namespace seriatim::bench {

namespace {

PGconn* connection(void* handle) {
  return static_cast<PGconn*>(handle);
}

std::vector<const char*> pointers(const Database::Params& params) {
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& param : params) values.push_back(param.c_str());
  return values;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A value between quotes, as libpq's connection strings have it.
std::string in_quotes(std::string_view value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + '\'';
}

}  // namespace

int Result::rows() const {
  return PQntuples(static_cast<PGresult*>(handle_.get()));
}

int Result::columns() const {
  return PQnfields(static_cast<PGresult*>(handle_.get()));
}

std::string_view Result::at(int row, int column) const {
  auto* result = static_cast<PGresult*>(handle_.get());
  return {PQgetvalue(result, row, column),
          static_cast<std::size_t>(PQgetlength(result, row, column))};
}

std::int64_t Result::number(int row, int column) const {
  const auto value = at(row, column);
  std::int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

void Result::clear(void* handle) {
  PQclear(static_cast<PGresult*>(handle));
}

Database::Database(const std::string& url, const std::string& application)
    : handle_(nullptr, &finish) {
  const char* names[] = {"dbname", "application_name", nullptr};
  const char* values[] = {url.c_str(), application.c_str(), nullptr};
  handle_.reset(
      PQconnectdbParams(static_cast<const char**>(names), static_cast<const char**>(values), 1));
  if (PQstatus(connection(handle_.get())) != CONNECTION_OK) {
    throw Error("cannot connect to the database: " +
                first_line(PQerrorMessage(connection(handle_.get()))));
  }
}

void Database::finish(void* handle) {
  PQfinish(connection(handle));
}

Result Database::checked(void* handle) const {
  Result result(handle);
  const auto status = PQresultStatus(static_cast<PGresult*>(handle));
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return result;
  throw Error("the database said: " + first_line(PQerrorMessage(connection(handle_.get()))));
}

void Database::run(std::string_view sql) {
  (void)checked(PQexec(connection(handle_.get()), std::string(sql).c_str()));
}

Result Database::query(std::string_view sql, const Params& params) {
  const auto values = pointers(params);
  return checked(PQexecParams(connection(handle_.get()), std::string(sql).c_str(),
                              static_cast<int>(params.size()), nullptr, values.data(), nullptr,
                              nullptr, 0));
}

void Database::prepare(const std::string& name, std::string_view sql) {
  (void)checked(
      PQprepare(connection(handle_.get()), name.c_str(), std::string(sql).c_str(), 0, nullptr));
}

Result Database::execute(const std::string& name, const Params& params) {
  const auto values = pointers(params);
  return checked(PQexecPrepared(connection(handle_.get()), name.c_str(),
                                static_cast<int>(params.size()), values.data(), nullptr, nullptr,
                                0));
}

bool Database::await_notification(std::chrono::milliseconds at_most) {
  auto* const server = connection(handle_.get());
  bool came = false;
  for (bool waited = false;; waited = true) {
    if (PQconsumeInput(server) == 0) {
      throw Error("the database went away: " + first_line(PQerrorMessage(server)));
    }
    while (auto* notification = PQnotifies(server)) {
      PQfreemem(notification);
      came = true;
    }
    if (came || waited) return came;
    pollfd ready{PQsocket(server), POLLIN, 0};
    (void)::poll(&ready, 1, static_cast<int>(at_most.count()));
  }
}

std::string with_database(const std::string& url, const std::string& database) {
  char* why = nullptr;
  auto* options = PQconninfoParse(url.c_str(), &why);
  if (options == nullptr) {
    const std::string text = why == nullptr ? "" : first_line(why);
    PQfreemem(why);
    throw Error("the database's URL cannot be read: " + text);
  }
  std::string text;
  for (const auto* option = options; option->keyword != nullptr; ++option) {
    if (option->val == nullptr || std::string_view(option->keyword) == "dbname") continue;
    text += std::string(option->keyword) + '=' + in_quotes(option->val) + ' ';
  }
  PQconninfoFree(options);
  return text + "dbname=" + in_quotes(database);
}

std::string fill(std::string_view sql,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string text(sql);
  for (const auto& [name, value] : values) {
    const auto placeholder = '{' + std::string(name) + '}';
    for (auto at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder)) {
      text.replace(at, placeholder.size(), value);
    }
  }
  return text;
}

}  // namespace seriatim::bench
