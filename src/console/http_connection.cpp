#include "console/http_connection.hpp"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <cstring>

namespace seriatim::console {

namespace {

namespace asio = boost::asio;

/// Empty: not an address of the internet.
std::string address_of(const asio::generic::stream_protocol::endpoint& place) {
  const auto family = place.protocol().family();
  if (family != AF_INET && family != AF_INET6) return {};
  asio::ip::tcp::endpoint known;
  if (place.size() > known.capacity()) return {};
  std::memcpy(known.data(), place.data(), place.size());
  known.resize(place.size());
  return known.address().to_string();
}

std::optional<unsigned> uid_of_peer(StreamSocket& socket) {
  ::ucred peer{};
  ::socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return {};
  return peer.uid;
}

}  // namespace

Connection::Connection(StreamSocket socket) : wire(std::move(socket)), clock(wire.get_executor()) {
  auto& ours = wire.plain().socket();
  boost::system::error_code gone;
  const auto place = ours.local_endpoint(gone);
  local = gone ? "" : address_of(place);
  if (!gone && place.protocol().family() == AF_UNIX) peer_uid = uid_of_peer(ours);
  const auto other = ours.remote_endpoint(gone);
  if (!gone) peer = address_of(other);
}

void Connection::read_within(std::chrono::milliseconds limit) {
  late = false;
  waits_since = Clock::now();
  wire.plain().expires_never();
  clock.expires_after(limit);
  clock.async_wait([self = weak_from_this()](const boost::system::error_code& stopped) {
    const auto connection = self.lock();
    if (stopped || !connection || connection->answering) return;
    connection->late = true;
    connection->wire.plain().cancel();
  });
}

}  // namespace seriatim::console
