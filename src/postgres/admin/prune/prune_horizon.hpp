#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/auditor/recount.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Why a row stays.
enum class Stays {
  late,      ///< neither delivered nor set aside
  unproven,  ///< in a sealed bucket that does not fit the table
  busy       ///< in a bucket that cannot be passed just now
};
using Objections = std::map<std::string, Stays>;  // by id

/// How far one process's ledger says its rows may be deleted. The buckets up to there become one a
/// lane, which lists the rows that are there; what is deleted of them later needs no note. A late
/// row is not listed, so it stays late.
///
/// Deleted may be only rows of the snapshot `plan` ran in, to which nobody objected, after `apply`
/// was committed.
class PruneHorizon {
 public:
  /// `dry`: nothing is applied, and an open bucket counts as one that is closed by then.
  PruneHorizon(Connection& connection, const Reader& reader, OrderBy order, bool dry)
      : connection_(connection), reader_(reader), remembers_(reader.order_by == order), dry_(dry) {}

  /// Judges all buckets that begin before `up_to`; those of an earlier plan that end there are left
  /// out if rows come in the process's own order. Rows of the partition `but` (oid) are as good as
  /// gone. In one snapshot.
  void plan(const Position& up_to, Objections& objections, std::vector<std::string>& problems,
            const std::optional<std::string>& but = std::nullopt);
  /// Writes what was planned, in the open transaction. False: the ledger has changed meanwhile.
  [[nodiscard]] bool apply();
  /// What was applied is committed (of a dry run: would be).
  void passed();
  [[nodiscard]] const Reader& reader() const { return reader_; }
  void deleted(const std::vector<std::string>& ids);
  /// The ledger is not as it was left: judge all of it again.
  void forget() { lanes_.clear(); }

 private:
  struct Cut {  ///< of the bucket the place lies in
    std::int64_t number = 0;
    std::uint64_t rows = 0;        ///< it has
    std::uint64_t pruned = 0;      ///< … of these, before
    std::vector<std::string> ids;  ///< of the rows there up to the place
    std::int64_t hash = 0;         ///< … of these
  };
  /// Neighbouring buckets of a lane that become one.
  struct Passing {
    unsigned lanes = 0;
    std::int64_t first = 0;   ///< bucket absorbed
    std::int64_t number = 0;  ///< the last one absorbed, and the new one's
    std::uint64_t buckets = 0;
    std::uint64_t rows = 0;  ///< delivered, in all of them
    std::uint64_t pruned = 0;
    std::optional<Position> from;
    std::optional<Position> fresh_from;  ///< what comes before was passed by this prune
    Position to;
    std::uint64_t there = 0;  ///< after fresh_from
    std::set<std::string> listed;
    std::optional<Cut> cut;
    bool fresh = false;  ///< something is absorbed or cut
  };
  struct Lane {
    unsigned lane = 0;
    std::int64_t ledger_start = -1;
    std::int64_t judged = -1;  ///< the last bucket that was passed, or that ends before that place
    std::int64_t judged_next = -1;
    std::optional<Passing> passed;  ///< the bucket before the next one, if this prune made it
    std::vector<Passing> planned;
    bool broken_off = false;  ///< a bucket that cannot be passed comes after the last planned
  };

  void read_lanes();
  void plan(Lane& lane, const Position& up_to, Objections& objections,
            std::vector<std::string>& problems, const std::optional<std::string>& but);
  bool absorb(Lane& lane, Passing& passing, const RecountedBucket& bucket, const Position& up_to,
              std::int64_t previous, Objections& objections);
  void finish(Lane& lane, std::optional<Passing>& passing, const Objections& objections,
              const std::optional<std::string>& but);
  bool apply(const Lane& lane, Passing& passing);
  struct There {
    std::vector<std::string> ids;
    std::int64_t hash = 0;
  };
  There rows_there(const LaneId& lane, const std::optional<Position>& from, const Position& to,
                   const Objections& objections,
                   const std::optional<std::string>& but = std::nullopt);
  void hold(const Lane& lane, const RecountedBucket& bucket, const Position& up_to, Stays why,
            Objections& objections);
  [[nodiscard]] std::string problem(const Lane& lane, const RecountedBucket& bucket) const;
  [[nodiscard]] LaneId id_of(const Lane& lane, unsigned lanes) const {
    return {reader_.process, lane.lane, lanes};
  }
  [[nodiscard]] const Table& table() const { return reader_.configured->table; }

  Connection& connection_;
  const Reader& reader_;
  bool remembers_;
  bool dry_;
  std::vector<Lane> lanes_;
};

}  // namespace seriatim::postgres
