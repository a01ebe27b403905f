#include "lab/torture/network.hpp"

#include <array>

namespace seriatim::torture {

using std::chrono::milliseconds;

namespace {

/// Libpq lets what comes later win.
std::string through(const std::string& url, std::uint16_t port) {
  const bool uri = url.rfind("postgres://", 0) == 0 || url.rfind("postgresql://", 0) == 0;
  const auto address = std::to_string(port);
  if (!uri) return url + " host=127.0.0.1 port=" + address;
  const char separator = url.find('?') == std::string::npos ? '?' : '&';
  return url + separator + "host=127.0.0.1&port=" + address;
}

using Storm = std::function<void()> (*)(FaultProxy&, std::uint64_t);

/// For a while, then fair again.
std::function<void()> weather(FaultProxy& proxy, const Flow& flow) {
  proxy.set({flow, flow});
  return [&proxy] { proxy.set({}); };
}

/// At its end what is left of the old connections is reset, as a router does that forgot them.
std::function<void()> weather_and_reset(FaultProxy& proxy, const Weather& bad) {
  proxy.set(bad);
  return [&proxy] {
    proxy.set({});
    proxy.reset_connections();
  };
}

std::function<void()> latency(FaultProxy& proxy, std::uint64_t dice) {
  Flow flow;
  flow.latency = milliseconds(5 + dice % 100);
  return weather(proxy, flow);
}

std::function<void()> slicing(FaultProxy& proxy, std::uint64_t dice) {
  Flow flow;
  flow.slice_bytes = 1 + dice % 13;
  return weather(proxy, flow);
}

std::function<void()> loss(FaultProxy& proxy, std::uint64_t) {
  Flow flow;
  flow.loss = 0.05;
  return weather(proxy, flow);
}

std::function<void()> reset(FaultProxy& proxy, std::uint64_t) {
  proxy.reset_connections();
  return [] {};
}

std::function<void()> close(FaultProxy& proxy, std::uint64_t) {
  proxy.close_connections();
  return [] {};
}

std::function<void()> black_hole(FaultProxy& proxy, std::uint64_t dice) {
  Weather bad;
  bad.to_server.swallow = dice % 2 == 0;
  bad.to_client.swallow = dice % 3 != 0 || dice % 2 != 0;
  return weather_and_reset(proxy, bad);
}

std::function<void()> half_open(FaultProxy& proxy, std::uint64_t dice) {
  proxy.half_open(dice % 2 == 0 ? Side::server : Side::client);
  return [&proxy] { proxy.reset_connections(); };
}

std::function<void()> cut_off(FaultProxy& proxy, std::uint64_t dice) {
  proxy.drop_at_byte(dice % 2 == 0 ? Side::server : Side::client, 1 + dice / 2 % 3'000);
  return [&proxy] { proxy.drop_at_byte(Side::client, 0); };
}

std::function<void()> commit_lost(FaultProxy& proxy, std::uint64_t dice) {
  proxy.drop_commit(dice % 3 == 0 ? Side::server : Side::client,
                    static_cast<unsigned>(1 + dice / 3 % 5));
  return [&proxy] { proxy.drop_commit(Side::client, 0); };
}

constexpr std::array<std::pair<const char*, Storm>, 9> storms{{{"latency", latency},
                                                               {"slicing", slicing},
                                                               {"loss", loss},
                                                               {"reset", reset},
                                                               {"close", close},
                                                               {"black_hole", black_hole},
                                                               {"half_open", half_open},
                                                               {"cut_off", cut_off},
                                                               {"commit_lost", commit_lost}}};

}  // namespace

Network::Network(const std::string& database_url, std::uint16_t receiver_port, std::uint64_t seed)
    : Network(Session(database_url, "seriatim torture"), database_url, receiver_port, seed) {}

Network::Network(const Session& server, const std::string& database_url,
                 std::uint16_t receiver_port, std::uint64_t seed)
    : database_(server.host(), server.port(), seed),
      receiver_("127.0.0.1", receiver_port, seed + 1),
      database_url_(through(database_url, database_.port())) {}

std::string Network::storm(std::uint64_t dice) {
  calm();
  const bool to_database = dice % 8 < 5;
  // HTTP has no COMMITs to lose.
  const auto& [name, begin] = storms[dice / 8 % (storms.size() - (to_database ? 0 : 1))];
  end_ = begin(to_database ? database_ : receiver_, dice / 128);
  until_ = Clock::now() + milliseconds(300 + dice / 1'024 % 900);
  return std::string(to_database ? "database " : "receiver ") + name;
}

void Network::tick() {
  if (end_ && Clock::now() >= until_) calm();
}

void Network::calm() {
  if (const auto end = std::exchange(end_, nullptr)) end();
}

}  // namespace seriatim::torture
