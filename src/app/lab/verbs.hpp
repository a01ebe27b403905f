#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "app/context.hpp"
#include "app/output.hpp"
#include "app/program.hpp"

namespace seriatim::app::lab_program {

// The verbs of seriatim-lab, which `seriatim torture` and `seriatim bench` start.

struct TortureVerb {
  std::string database;  ///< empty: as for other verbs; "embedded": a private server
  double minutes = 1;
  std::optional<std::uint64_t> seed;  ///< absent: drawn
  unsigned producers = 8;
  unsigned relays = 3;
  unsigned lanes = 1;
  unsigned in_flight = 1;
  bool hold_key = false;
  std::string order = "both";  ///< "created_at", "id"
  bool kill = false;
  bool freeze = false;
  bool terminate_backends = false;
  bool restart_server = false;
  bool promote = false;
  bool net = false;
  bool all_faults = false;
  std::string restart_command;  ///< how a server that is not ours is crashed and started
  bool keep = false;
  std::string relay_program;  ///< empty: the `seriatim` next to this program
};
struct BenchVerb {
  std::string name;      ///< "null", "http" …
  std::string database;  ///< empty: a private server
  std::optional<std::uint64_t> rows;
  unsigned repeats = 5;
  unsigned batch = 1'000;
  std::optional<unsigned> seconds;
  std::string order = "both";     ///< "created_at", "id"
  std::string read_ahead = "on";  ///< "off"
  std::uint64_t waiting = 0;
  std::uint64_t delivered = 0;
  unsigned partitions = 1;
  unsigned connections = 0;
  unsigned max_connections = 0;  ///< of a private server, at least; 0: as many as are needed
};
/// The relay under test, started by `bench`.
struct BenchRelayVerb {};
using Verb = std::variant<TortureVerb, BenchVerb, BenchRelayVerb>;
struct Command {
  Context::Options common;
  Verb verb;
};
[[nodiscard]] std::variant<Command, Answer> parse_command_line(int count,
                                                               const char* const* arguments);

Exit perform(const TortureVerb& verb, Context& context);
Exit perform(const BenchVerb& verb, Context& context);
Exit perform(const BenchRelayVerb& verb, Context& context);

}  // namespace seriatim::app::lab_program
