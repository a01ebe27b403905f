#include "fuzz/fuzz_target.hpp"
#include "seriatim/receiver.hpp"

SERIATIM_FUZZ_TARGET(receiver_state) {
  using seriatim::fuzz::require;
  seriatim::ReceivedLane made;
  made.sequence = 1000;
  for (auto rest = input; !rest.empty() && made.ids.size() < made.sequence;) {
    made.ids.emplace_back(seriatim::fuzz::take_line(rest));
  }
  require(seriatim::lane_from(to_text(made)) == made,
          "what is kept is read back, whatever the ids");
  const auto lane = seriatim::lane_from(input);
  if (!lane) return;
  require(lane->ids.size() <= lane->sequence, "there are no more ids than numbers");
  require(seriatim::lane_from(to_text(*lane)) == lane, "what was read is read again");
  seriatim::Receiver receiver(10);
  receiver.restore("p", 0, *lane);
  const seriatim::Delivery next{"p", 0, lane->epoch, lane->sequence + 1, "7", lane->set_aside};
  if (lane->sequence == UINT64_MAX) return;
  require(receiver.judge(next).verdict == seriatim::Verdict::accept, "the next one is accepted");
  require(receiver.taken(next).sequence == lane->sequence + 1, "and is remembered");
  require(receiver.judge(next).verdict == seriatim::Verdict::repeat, "and is a repeat then");
}
