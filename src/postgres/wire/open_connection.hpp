#pragma once

#include <pqxx/pqxx>
#include <string>

namespace seriatim::postgres {

/// libpqxx's connection, which shows the connection of libpq's below it, and never opens another in
/// the place of one that was lost, without our locks and settings.
#if PQXX_VERSION_MAJOR >= 7
class OpenConnection : public pqxx::connection {
 public:
  explicit OpenConnection(const std::string& url);
  [[nodiscard]] pg_conn* raw() const { return raw_; }
  void prepare_now(const std::string& name, const std::string& statement);

 private:
  explicit OpenConnection(pg_conn* raw);
  pg_conn* raw_;
};
#else
/// Opens connections of libpq's for libpqxx 6, and knows which is open.
class OpeningPolicy : public pqxx::connect_direct {
 public:
  using connect_direct::connect_direct;
  handle do_startconnect(handle given) override;
  handle do_disconnect(handle given) noexcept override;

 protected:
  handle open_ = nullptr;
};

class OpenConnection : private OpeningPolicy, public pqxx::connection_base {
 public:
  explicit OpenConnection(const std::string& url);
  ~OpenConnection() override;
  OpenConnection(const OpenConnection&) = delete;
  OpenConnection& operator=(const OpenConnection&) = delete;

  /// Null where it was closed.
  [[nodiscard]] pg_conn* raw() const { return open_; }
  void prepare_now(const std::string& name, const std::string& statement);
};
#endif

}  // namespace seriatim::postgres
