#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace seriatim::torture {

using std::chrono::milliseconds;

enum class Side { client, server };

/// What the bytes of one direction suffer. By default: nothing.
struct Flow {
  milliseconds latency{0};           ///< each byte arrives so much later
  std::size_t bytes_per_second = 0;  ///< 0: as many as come
  std::size_t slice_bytes = 0;       ///< handed on in pieces of at most so many; 0: as they come
  /// Share of pieces lost, in [0, 1). TCP loses none, it comes late: each loss is the pause until
  /// the piece is sent again, 200 ms at first, doubled while it is lost again.
  double loss = 0;
  bool held = false;     ///< nothing is handed on for now; later it is, unchanged
  bool swallow = false;  ///< black hole: taken, acknowledged, gone; that direction is dead for good
};

struct Weather {
  Flow to_server;
  Flow to_client;
};

enum class Connections { existing, coming, all };

/// A TCP proxy before one server that treats connections as networks do on bad days.
///
/// Threads: one of its own; every member may be called from any other, and what it orders has
/// happened when it returns. Lifetime: the destructor ends all connections.
/// Bounded: at most 64 KiB a direction wait in it; then the sender is slowed down.
/// Chance comes from the seed alone.
class FaultProxy {
 public:
  /// `host` is a name, an address, or the folder of a Unix-domain socket of PostgreSQL ("/…").
  /// Listens on a free port of 127.0.0.1. Throws std::runtime_error if the name is unknown.
  FaultProxy(const std::string& host, unsigned short port, std::uint64_t seed = 1);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  [[nodiscard]] unsigned short port() const;

  /// From now on; `Weather{}` is fair. What a black hole took is not given back.
  void set(const Weather& weather, Connections which = Connections::all);
  /// New connections are refused (ECONNREFUSED) until switched off.
  void refuse(bool on);

  // Once, to every connection there is:
  void close_connections();   ///< FIN to both sides, what is on its way dropped
  void reset_connections();   ///< RST to both sides
  void half_open(Side gone);  ///< closed towards that side; the other one never learns
  /// Both sides go deaf as if the cable were cut or the host gone: no byte, no ACK, no FIN; new
  /// connections are not answered either. Peers notice by keepalives and tcp_user_timeout alone.
  /// False if the kernel does not let us (no SO_ATTACH_FILTER); then nothing has happened.
  [[nodiscard]] bool cut();
  void fix();  ///< connections that outlived the cut go on

  // Orders for the bytes to come, over all connections; a new one replaces the last, 0 takes it
  // back. The connection it hits is closed to both sides.
  /// Hands on `bytes` more bytes of this direction, and no further one.
  void drop_at_byte(Side towards, std::size_t bytes);
  /// The n-th COMMIT from now does not reach this side: the server, so it never happens, or the
  /// client, who then does not know that it did. Needs sslmode=disable.
  void drop_commit(Side towards, unsigned n = 1);

  struct Counts {
    std::size_t accepted = 0;         ///< connections ever accepted
    std::size_t open = 0;             ///< and still open to either side
    std::size_t bytes_to_server = 0;  ///< handed on
    std::size_t bytes_to_client = 0;
    std::size_t commits_answered = 0;  ///< COMMITs answered by the server, dropped ones included
    std::size_t dropped = 0;           ///< orders of drop_at_byte and drop_commit carried out
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::torture
