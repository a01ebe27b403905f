#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/auditor/recount.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// The server's answer if others' locks or changes were in the way.
[[nodiscard]] bool is_lock_trouble(const std::string& sqlstate);

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
/// Only rows of the snapshot `plan` ran in may be deleted, to which nobody objected, and only after
/// `apply` was committed.
class PruneHorizon {
 public:
  /// `moves`: `apply` will be called. `dry`: an open bucket counts as one that is closed by then.
  PruneHorizon(Connection& connection, const Reader& reader, bool moves, bool dry)
      : connection_(connection), reader_(reader), moves_(moves), dry_(dry) {}

  [[nodiscard]] const Reader& reader() const { return reader_; }

  /// Judges all buckets that begin before `up_to`; if the horizon does not move, not again those
  /// that ended before the last place. Rows of the partition `but` (oid) are as good as gone.
  void plan(const Position& up_to, Objections& objections, std::vector<std::string>& problems,
            const std::optional<std::string>& but = std::nullopt);
  /// Writes what was planned, in the open transaction. False: the ledger has changed meanwhile.
  [[nodiscard]] bool apply();

 private:
  struct Lane {
    LaneId id;  ///< `lanes` as the bucket in hand was cut
    std::int64_t before_first = -1;
    std::int64_t judged = -1;
  };
  struct There {
    std::vector<std::string> ids;
    std::int64_t hash = 0;
  };
  /// Neighbouring buckets that become one.
  struct Passing {
    LaneId lane;
    std::int64_t first = 0;   ///< bucket absorbed
    std::int64_t number = 0;  ///< the last one absorbed, and the new one's
    std::uint64_t buckets = 0;
    std::uint64_t rows = 0;  ///< delivered, in all of them
    std::uint64_t pruned = 0;
    std::uint64_t there = 0;
    std::optional<Position> from;
    Position to;
    std::vector<std::string> listed;
    std::optional<RecountedBucket> cut;  ///< in which the place lies
    There below;                         ///< … its rows up to there
  };
  using Held = std::optional<Passing>;

  void plan(Lane& lane, const Position& up_to, Objections& objections,
            std::vector<std::string>& problems, const std::optional<std::string>& but);
  void absorb(Passing& passing, const RecountedBucket& bucket, const Position& up_to,
              const Objections& objections);
  void finish(Held& passing, const Objections& objections, const std::optional<std::string>& but);
  bool apply(const Passing& passing);
  There rows_there(const LaneId& lane, const std::optional<Position>& from, const Position& to,
                   const Objections& objections, const std::optional<std::string>& but);
  [[nodiscard]] std::string problem(const LaneId& lane, const RecountedBucket& bucket) const;

  Connection& connection_;
  const Reader& reader_;
  bool moves_;
  bool dry_;
  std::vector<Lane> lanes_;
  std::vector<Passing> planned_;
};

}  // namespace seriatim::postgres
