#pragma once

#include <memory>
#include <string>

#include "seriatim/auditor.hpp"
#include "seriatim/config.hpp"
#include "seriatim/membership.hpp"
#include "seriatim/reader.hpp"
#include "seriatim/store.hpp"
#include "seriatim/waker.hpp"

namespace seriatim {

/// Who a store and a reader speak for.
struct LaneId {
  std::string process;
  unsigned lane = 0;
  unsigned lanes = 1;
};

/// Where records come from and cursors are kept.
class Source {
 public:
  virtual ~Source() = default;
  /// What one lane works with. The two may share a connection; each is destroyed on its own.
  struct Lane {
    std::unique_ptr<Store> store;
    std::unique_ptr<Reader> reader;
  };
  /// A new connection for one lane. `holder` names this relay instance, unique per run.
  /// Throws SessionLost if there is none to be had. `waker` outlives both parts.
  virtual Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
                    Waker& waker) = 0;
  /// A new connection for sharing the lanes of a process; null if instances cannot see each
  /// other: then each is a standby for every lane. Throws as `open` does.
  virtual std::unique_ptr<MembershipSession> open_membership(const ProcessConfig& /*config*/,
                                                             const std::string& /*holder*/) {
    return nullptr;
  }
  /// A new connection for the audit of a process; null if nothing can appear behind a cursor.
  /// Throws as `open` does. `waker` outlives the session.
  virtual std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& /*config*/,
                                                       const std::string& /*holder*/,
                                                       Waker& /*waker*/) {
    return nullptr;
  }
};

}  // namespace seriatim
