#pragma once

#include <string>
#include <vector>

namespace seriatim {

/// Who runs a process, and who holds its lanes. From this each instance computes its share.
struct Membership {
  struct Lane {
    std::string holder;  ///< as the cursor row names it; empty: nobody, or no row yet
    bool free = true;    ///< as far as is known, anyone who claims it would get it
  };
  std::vector<std::string> instances;  ///< that run it now, with as many lanes as ours
  std::vector<Lane> lanes;             ///< by number
  bool cut_otherwise = false;          ///< the cursors were cut into another number of lanes
};

/// One instance's connection to the others that run the same process.
///
/// Threads and errors as for Store.
class MembershipSession {
 public:
  MembershipSession() = default;
  MembershipSession(const MembershipSession&) = delete;
  MembershipSession& operator=(const MembershipSession&) = delete;
  virtual ~MembershipSession() = default;

  /// `notify`: also notifies the others that this instance runs. One that has not done so for three
  /// seconds or whose connection is gone counts no longer.
  virtual Membership read(bool notify) = 0;
  /// Notifies the others that this instance runs no longer.
  virtual void leave() = 0;
};

}  // namespace seriatim
