#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/writers/session.hpp"
#include "seriatim/position.hpp"

namespace seriatim::torture {

using lab::fill;
using lab::Session;
using lab::SqlFailed;

/// One process of the relays under test: a table read in one order.
struct Stream {
  std::string process;
  std::string table;  ///< "plain" or "parts"
  OrderBy order_by = OrderBy::created_at;
};

/// What the server lets a run do.
struct ServerFacts {
  std::string version;
  bool two_phase = false;        ///< max_prepared_transactions > 0
  bool watches_cursors = false;  ///< a trigger on seriatim.cursor is ours to make
  bool ledger = false;
};

/// Schema `seriatim_torture_SEED` with its tables, and this run's rows in schema seriatim.
class Stage {
 public:
  Stage(std::string url, std::uint64_t seed, const std::vector<OrderBy>& orders);

  /// Error if the schema is there already: another run of this seed, or one that was kept.
  void build();
  /// Drops the schema and this run's rows of seriatim.cursor, journal and ledger.
  void tear_down();

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& schema() const { return schema_; }
  /// Begins all names of ours: processes, sessions, prepared transactions.
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }
  [[nodiscard]] const ServerFacts& facts() const { return facts_; }

  /// `statement` for one of the tables ("plain", "parts", "parts_1").
  [[nodiscard]] std::string on(std::string_view statement, const std::string& table) const;
  [[nodiscard]] std::string qualified(const std::string& table) const {
    return schema_ + '.' + table;
  }

 private:
  void server_state(Session& session);

  std::string url_;
  std::string schema_;
  std::string prefix_;
  std::vector<Stream> streams_;
  ServerFacts facts_;
};

}  // namespace seriatim::torture
