// Of a simulated relay: its statements about the cursor.
#include "simulation/relay_parts.hpp"

namespace seriatim::simulation {

Relay::LaneStore::~LaneStore() {
  if (!relay_.dying_ && !backend_->given_up) relay_.server_.close(backend_);
}

Claim Relay::LaneStore::claim() {
  for (;;) {
    auto claim = relay_.execute(
        backend_, [&server = relay_.server_, backend = backend_, known = relay_.known_epoch_](
                      Backend&) { return server.cursors().claim(backend, known); });
    relay_.known_epoch_ = claim.cursor.epoch;
    if (relay_.remembered_ && claim.granted) {
      claim.cursor.position = relay_.remembered_->position;
      claim.cursor.sequence = relay_.remembered_->sequence;
      relay_.remembered_.reset();
    }
    if (claim.granted || claim.holder != relay_.name_) return claim;
    relay_.pass(relay_.latency());  // an act, or a claim whose answer was lost
  }
}

Cursor Relay::LaneStore::read_cursor() {
  return relay_.execute(backend_,
                        [&server = relay_.server_](Backend&) { return server.cursors().row(); });
}

Grant Relay::LaneStore::start(std::uint64_t epoch, const Start& start, const Batch& batch) {
  return relay_.execute(backend_, [&server = relay_.server_, epoch, start, batch](Backend& by) {
    return server.cursors().start(by, epoch, start, batch);
  });
}

SettleAnswer Relay::LaneStore::settle(std::uint64_t epoch, const Settlement& settlement,
                                      const Batch& batch) {
  const auto& stage = relay_.stage_;
  const bool plain = !settlement.failed();
  if (plain && stage.sabotaged(Sabotage::advance_before_delivery)) {
    return {.grant = Grant::ours,
            .position =
                settlement.done.empty() ? settlement.from : std::optional(settlement.done.back())};
  }
  if (plain && stage.sabotaged(Sabotage::cursor_not_reread)) {
    relay_.remembered_.emplace();
    relay_.remembered_->position = settlement.from;
    relay_.remembered_->sequence = relay_.server_.cursors().row().sequence;
  }
  auto answer =
      relay_.execute(backend_, [&server = relay_.server_, epoch, settlement, batch](Backend& by) {
        auto settled = server.cursors().settle(by, epoch, settlement, batch);
        const bool rests = std::holds_alternative<Rest>(settlement.fate);
        if (by.behind && rests && settled.grant == Grant::ours) {
          by.behind->answered = true;
          by.behind->rows = server.table().rows_after(by.behind->after);
          by.behind->written = server.table().wal.written;
        }
        return settled;
      });
  relay_.remembered_.reset();
  return answer;
}

void Relay::LaneStore::release(std::uint64_t epoch, bool untouched) {
  relay_.execute(backend_, [&server = relay_.server_, epoch, untouched](Backend& by) {
    server.cursors().release(by, epoch, untouched);
    return true;
  });
}

ParkedKeys Relay::LaneStore::parked_keys() {
  if (relay_.stage_.sabotaged(Sabotage::keys_not_reloaded)) return {};
  return relay_.execute(
      backend_, [&server = relay_.server_](Backend&) { return server.cursors().aside().keys(); });
}

DueRows Relay::LaneStore::due_rows(std::uint64_t epoch, unsigned rows_max,
                                   const DueChoice& choice) {
  return relay_.execute(backend_, [&server = relay_.server_, epoch, rows_max, choice](Backend&) {
    return server.cursors().due_rows(epoch, rows_max, choice);
  });
}

LeftOut Relay::LaneStore::leave_out(std::uint64_t epoch, const DueRow& row,
                                    const std::optional<std::string>&) {
  return relay_.execute(backend_, [&server = relay_.server_, epoch, id = row.id](Backend&) {
    return server.cursors().leave_out(epoch, id);
  });
}

bool Relay::LaneStore::is_lost() noexcept {
  const auto& stage = relay_.stage_;
  return backend_->known_lost(stage.now()) && !stage.sabotaged(Sabotage::call_on_dead_session);
}

}  // namespace seriatim::simulation
