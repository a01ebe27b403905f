#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lab/writers/session.hpp"
#include "lab/writers/writers.hpp"

namespace seriatim::lab {

using Dice = std::mt19937_64;

/// Up to `most`, one time in ten up to `seldom`.
struct Pause {
  std::chrono::milliseconds most{0};
  std::chrono::milliseconds seldom = most;
};

/// A transaction as applications make it: begun, INSERTs, COMMIT.
struct Shape {
  std::string insert;
  std::function<Session::Params(Dice&)> values{};  ///< of the parameters of `insert`
  unsigned rows = 1;                               ///< one `insert` inserts
  unsigned inserts = 1;
  double savepoint = 0;  ///< how often an INSERT more is taken back to a savepoint
  double rollback = 0;
  Pause before{};  ///< in the transaction, and nothing is inserted yet
  Pause open{};    ///< after the INSERTs
  Pause rest{};
  unsigned weight = 1;  ///< among the shapes of a writer
};

/// What writers have done, by all of them.
struct Tally {
  std::atomic<std::uint64_t> rows = 0;  ///< committed
  std::atomic<std::uint64_t> rolled_back = 0;
};

/// Writers of these shapes, for Writers::Options::open. `tally` must outlive them.
struct Busy {
  std::string url;
  std::vector<Shape> shapes;
  Tally& tally;
  std::uint64_t seed = 0;

  std::unique_ptr<Writer> operator()(unsigned number, std::uint64_t round) const;
};

}  // namespace seriatim::lab
