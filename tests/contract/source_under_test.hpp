#pragma once

#include <memory>
#include <string>

#include "seriatim/source.hpp"

namespace seriatim::testing {

/// What the contract suite needs of a source to put it through its paces. One fresh table each.
class SourceUnderTest {
 public:
  virtual ~SourceUnderTest() = default;

  virtual Source& source() = 0;
  /// Commits one row with this payload; answers its id.
  virtual std::string append(const std::string& payload) = 0;

  /// A transaction whose rows have their places at `append` and appear at `commit`.
  class Transaction {
   public:
    virtual ~Transaction() = default;  ///< rolls back
    virtual std::string append(const std::string& payload) = 0;
    virtual void commit() = 0;
  };
  virtual std::unique_ptr<Transaction> begin() = 0;

  virtual void pause(const LaneId& lane) = 0;
  virtual void resume(const LaneId& lane) = 0;
  /// A person asks for a turn, or no longer.
  virtual void hold(const LaneId& lane, bool on) = 0;
  virtual void retry(const LaneId& lane) = 0;
  virtual void skip(const LaneId& lane, const std::string& id) = 0;
  /// Every parked row of the lane is to go out again.
  virtual void redrive(const LaneId& lane) = 0;

  /// Ends every session there is; returns once they are gone.
  virtual void drop_sessions() = 0;
};

/// A filtered source reads the rows that are wanted; each `append` also commits one that is not.
struct Shape {
  OrderBy order = OrderBy::created_at;
  bool filtered = false;
};
inline constexpr const char* unwanted = "unwanted";  ///< payload of the rows left out

/// Makes a fresh one; called for each test case.
std::unique_ptr<SourceUnderTest> make_memory_source(Shape shape);
std::unique_ptr<SourceUnderTest> make_postgres_source(Shape shape);
/// A log without a fence, whose positions are of a type of their own.
std::unique_ptr<SourceUnderTest> make_log_source();

}  // namespace seriatim::testing
