// What is done.
#include <algorithm>
#include <utility>

#include "app/desk/database_desk.hpp"
#include "app/desk/desk_json.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using console::Conflict;
using console::Order;
using console::Refused;

/// "…; nothing was changed: try again" as what is wrong, and what to do.
Refused refused_because(const std::string& text) {
  const auto nothing = text.rfind("; nothing was ");
  const auto colon = nothing == std::string::npos ? nothing : text.find(": ", nothing);
  if (colon == std::string::npos) return Refused(text);
  return Refused(text.substr(0, colon), text.substr(colon + 2));
}

/// What the command line asks for in options of its own.
void refuse_incomplete(const Order& order) {
  const bool wide = order.act == "rewind" || (order.act == "discard" && order.all);
  if (wide && !order.seen.plan) {
    throw Refused(order.act + " needs the plan of a preview", "ask for the preview first");
  }
  const bool explained = order.act == "retry" || order.act == "pause" || order.act == "resume";
  if (!explained && order.reason.empty()) {
    throw Refused(order.act + " needs a reason for the journal", "say why");
  }
}

}  // namespace

std::string DatabaseDesk::act(const Order& order) {
  const auto& target = target_of(order.process);
  if (order.lane && *order.lane >= target.process.lanes) {
    throw console::NotFound("process \"" + order.process + "\" has no lane " +
                            std::to_string(*order.lane));
  }
  try {
    if (order.preview) {
      return read([&](postgres::Admin& admin) {
        return previewed_json(order.process, preview_order(admin, target, order));
      });
    }
    refuse_incomplete(order);
    return perform(target, order);
  } catch (const postgres::NotAsExpected& changed) {
    conflict(target, order, changed);
  } catch (const SessionLost&) {
    throw;
  } catch (const Refused&) {
    throw;
  } catch (const Error& error) {
    throw refused_because(shown(error.what()));
  }
}

std::string DatabaseDesk::perform(const postgres::Target& target, const Order& order) {
  postgres::Admin admin(url_, [this](const std::string&) { return !giving_up_.load(); });
  const auto done = perform_order(admin, target, order, {order.who, order.reason});
  parts_.reader.expire();
  return shown(performed_json(order.process, done));
}

void DatabaseDesk::conflict(const postgres::Target& target, const Order& order,
                            const postgres::NotAsExpected& changed) {
  throw Conflict(shown(changed.what()),
                 changed.rows() ? std::to_string(*changed.rows()) : lane_now(target, order));
}

/// The lane that the person saw, as it is now.
std::string DatabaseDesk::lane_now(const postgres::Target& target, const Order& order) try {
  const auto seen = expectation_of(order, target.process.lanes).lane;
  if (!seen) return "null";
  return read([&](postgres::Admin& admin) {
    for (const auto& report : admin.status(target)) {
      if (report.lane.lane == *seen) return shown(lane_json(report));
    }
    return std::string("null");
  });
} catch (const std::exception&) {  // that it changed is known all the same
  return "null";
}

std::string DatabaseDesk::recount(const std::string& process, const std::string& who,
                                  const Progress& progress, std::stop_token stop) {
  const auto& target = target_of(process);
  postgres::Admin admin(url_);
  std::vector<postgres::LaneAudit> lanes;
  try {
    lanes = admin.audit(target, false, progress, stop);
  } catch (const Error&) {
    if (stop.stop_requested()) throw Refused("the recount was ended before it was done");
    throw;
  }
  admin.note_audit(process, lanes, {who, ""}, audit_finding(lanes));
  return shown(recounted_json(process, lanes));
}

}  // namespace seriatim::app
