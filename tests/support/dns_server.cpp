#include "support/dns_server.hpp"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support/skip.hpp"

namespace seriatim::testing {

namespace {

namespace asio = boost::asio;
using asio::ip::udp;

const Need need(DnsServer::why_not);

constexpr std::size_t header_bytes = 12;
constexpr unsigned type_a = 1;
constexpr unsigned type_aaaa = 28;

unsigned number(const std::string& bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]) * 256U + static_cast<unsigned char>(bytes[at + 1]);
}
std::string number(unsigned value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

/// Where the first question ends: labels, type, class.
std::size_t question_end(const std::string& query) {
  auto at = header_bytes;
  while (at < query.size() && query[at] != 0) at += 1 + static_cast<unsigned char>(query[at]);
  return at + 5;
}

std::string bytes_of(const std::string& address, int family) {
  std::array<char, 16> bytes{};
  if (::inet_pton(family, address.c_str(), bytes.data()) != 1) return {};
  return {bytes.data(), family == AF_INET ? 4U : 16U};
}

std::string reply_to(const std::string& query, const DnsAnswer& answer) {
  const auto end = question_end(query);
  if (end > query.size()) return {};
  const auto type = number(query, end - 4);
  std::string records;
  unsigned count = 0;
  for (const auto& address : answer.addresses) {
    const auto bytes = bytes_of(address, type == type_a ? AF_INET : AF_INET6);
    if (bytes.empty() || (type != type_a && type != type_aaaa)) continue;
    const std::string name_type_class = "\xc0\x0c" + number(type) + number(1);
    records += name_type_class + std::string(4, '\0') + number(static_cast<unsigned>(bytes.size()));
    records += bytes;  // time to live: 0
    ++count;
  }
  const unsigned flags = 0x8580U | static_cast<unsigned>(answer.code);
  return query.substr(0, 2) + number(flags) + number(1) + number(count) + number(0) + number(0) +
         query.substr(header_bytes, end - header_bytes) + records;
}

/// Of 127/8 one that no other test of this machine uses at the same time.
std::string address_of_this_process() {
  const auto pid = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(53 + pid / 62'500 % 200) + "." +
         std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250 + 1);
}

/// Answers false if port 53 of `address` cannot be had.
bool bind_to(udp::socket& socket, const std::string& address) {
  boost::system::error_code error;
  socket.bind({asio::ip::make_address(address), 53}, error);
  return !error;
}

}  // namespace

struct DnsServer::Impl {
  std::string address = address_of_this_process();
  asio::io_context context;  // never run
  udp::socket socket{context, udp::v4()};
  std::mutex mutex;
  DnsAnswer says;
  std::atomic<unsigned> questions = 0;
  std::jthread thread;

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd one{socket.native_handle(), POLLIN, 0};
      if (::poll(&one, 1, 50) <= 0) continue;
      std::array<char, 1500> buffer{};
      udp::endpoint from;
      boost::system::error_code error;
      const auto n = socket.receive_from(asio::buffer(buffer), from, 0, error);
      if (error || n < header_bytes) continue;
      ++questions;
      const std::scoped_lock guard(mutex);
      if (says.silent) continue;
      const auto reply = reply_to({buffer.data(), n}, says);
      socket.send_to(asio::buffer(reply), from, 0, error);
    }
  }
};

DnsServer::DnsServer() : impl_(std::make_unique<Impl>()) {
  if (!bind_to(impl_->socket, impl_->address)) {
    throw std::runtime_error("port 53 of " + impl_->address + " is not to be had");
  }
  impl_->thread = std::jthread([this](const std::stop_token& stop) { impl_->run(stop); });
}

DnsServer::~DnsServer() = default;

std::string DnsServer::why_not() {
  if (::geteuid() != 0) return "a name server and a resolv.conf of our own take root";
  bool may = false;
  std::thread([&may] { may = ::unshare(CLONE_NEWNS | CLONE_FS) == 0; }).join();
  if (!may) return "this container allows no mount namespaces";
  asio::io_context context;
  udp::socket trial(context, udp::v4());
  const auto address = address_of_this_process();
  return bind_to(trial, address) ? "" : "no name server can bind port 53 of " + address + " here";
}

void DnsServer::answer(DnsAnswer answer) {
  const std::scoped_lock guard(impl_->mutex);
  impl_->says = std::move(answer);
}

unsigned DnsServer::questions() const {
  return impl_->questions;
}

std::vector<std::string> DnsServer::prefix(const std::string& resolv_conf) const {
  std::ofstream(resolv_conf) << "nameserver " << impl_->address << "\n";
  return {"unshare",  "--mount", "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"",
          resolv_conf};
}

}  // namespace seriatim::testing
