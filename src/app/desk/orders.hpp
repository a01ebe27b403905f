#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "console/desk.hpp"
#include "postgres/admin/admin.hpp"

namespace seriatim::app {

// The one way of an act, whether it was asked for on the command line or on a page.

/// What was done.
struct Performed {
  postgres::ActResult lines;                  ///< in words
  std::vector<postgres::RewindStep> steps{};  ///< of a rewind
  std::optional<std::uint64_t> entry{};       ///< the last one it made in the journal
};

/// What would be done.
struct Previewed {
  std::vector<std::string> lines;
  std::vector<postgres::RewindStep> steps{};  ///< of a rewind
  std::optional<std::uint64_t> count{};       ///< redrive, discard: parked rows
  std::optional<std::string> plan{};          ///< redrive, discard, rewind: what to expect
};

/// Carries an order out. `actor` says who and why; what was seen is taken from the order.
/// Errors: Refused if the order is incomplete, or expects what its act does not compare; else as
/// the Admin's.
[[nodiscard]] Performed perform_order(postgres::Admin& admin, const postgres::Target& target,
                                      const console::Order& order, postgres::Actor actor);
/// Changes nothing. Errors: likewise.
[[nodiscard]] Previewed preview_order(postgres::Admin& admin, const postgres::Target& target,
                                      const console::Order& order);

/// The parts of an expectation that lanes are compared with.
[[nodiscard]] postgres::Expectation expectation_of(const console::Order& order, unsigned lanes);

/// SHA-256 over what a rewind does to each lane, in hexadecimal.
[[nodiscard]] std::string plan_hash(const std::string& process,
                                    const std::vector<postgres::RewindStep>& steps);

}  // namespace seriatim::app
