#pragma once

#include "lab/torture/faults.hpp"

namespace seriatim::torture {

using lab::Evidence;

/// Everything the judge is to know of stream `number`, asked of the database and the receiver
/// when all has stopped.
[[nodiscard]] Evidence gather_evidence(const Settings& settings, const Stage& stage,
                                       const Receiver& receiver, const Faults& faults,
                                       unsigned number);

/// The receiver's log of a stream, one call a line, for whoever examines a broken run.
void write_calls(const Evidence& evidence, const std::filesystem::path& folder);

/// Commit to call, over the first deliveries of all streams.
[[nodiscard]] Latency measure_latency(const Stage& stage, const Receiver& receiver,
                                      const CommitTimes& commits);

}  // namespace seriatim::torture
