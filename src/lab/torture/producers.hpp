#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lab/torture/stage.hpp"
#include "lab/writers/writers.hpp"

namespace seriatim::torture {

/// When a producer had the answer to its COMMIT, of some rows: monotonic nanoseconds by id.
using CommitTimes = std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>>;

/// What concurrent writers do to an outbox at its worst: every shape of transaction there is, open
/// for up to two seconds, committing out of order, prepared and ended by someone else, with and
/// without waiting for the disk; rows delivered long ago updated and deleted in bulk.
///
/// Threads: one per writer and one that ends prepared transactions. All is drawn from `seed`; the
/// timing is the machine's. A lost connection is replaced.
class Producers {
 public:
  struct Options {
    std::uint64_t seed = 1;
    unsigned writers = 8;
    bool two_phase = true;
    unsigned keys = 0;  ///< at least 40
  };

  Producers(const Stage& stage, const Options& options);
  ~Producers();
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;

  void start();
  /// Waits for the transactions in flight; then no prepared one is left either.
  void stop();

  /// Writers begin no transaction while so; prepared ones are ended.
  void throttle(bool throttled) { throttled_ = throttled; }
  /// Nothing is begun and nothing that is prepared ended.
  void pause(bool paused) { paused_ = paused; }
  /// Also those whose time has not come.
  void end_all_prepared();
  /// Nobody is inside a transaction.
  [[nodiscard]] bool quiet() const { return writers_.quiet(); }
  /// Inserts one row into each table by a commit that does not wait for the disk.
  void slip_in_rows();

  /// Rows a table should have got, near enough to detect a backlog.
  [[nodiscard]] std::uint64_t rows(const std::string& table) const;
  [[nodiscard]] CommitTimes commit_times() const;
  /// Transactions by shape, for the report.
  [[nodiscard]] std::map<std::string, std::uint64_t> shapes() const;

 private:
  friend class Writer;
  void end_prepared(const std::stop_token& stop);
  bool end_prepared_once(Session& session, bool all);
  void note_rows(const std::string& table, std::uint64_t rows);
  void note_commit(const std::string& table, std::int64_t id);
  void note_shape(const std::string& shape);

  const Stage& stage_;
  const Options options_;
  std::atomic<bool> throttled_ = false;
  std::atomic<bool> paused_ = false;
  std::atomic<std::uint64_t> plain_rows_ = 0;
  std::atomic<std::uint64_t> parts_rows_ = 0;
  std::atomic<std::uint64_t> slipped_ = 0;
  mutable std::mutex mutex_;
  CommitTimes commit_times_;
  std::map<std::string, std::uint64_t> shapes_;
  std::vector<std::uint64_t> rows_of_;  ///< that each writer ever inserted
  std::jthread finisher_;
  lab::Writers writers_;
};

}  // namespace seriatim::torture
