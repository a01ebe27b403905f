#include "console/probe_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <exception>

#include "seriatim/error.hpp"

namespace seriatim::console {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

asio::awaitable<ProbeAnswer> converse(tcp::endpoint place, std::string path,
                                      std::chrono::milliseconds limit) {
  boost::beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(limit);
  co_await stream.async_connect(place, asio::use_awaitable);
  http::request<http::empty_body> request(http::verb::get, path, 11);
  const auto address = place.address().to_string();
  request.set(http::field::host, place.address().is_v6() ? '[' + address + ']' : address);
  request.set(http::field::connection, "close");
  co_await http::async_write(stream, request, asio::use_awaitable);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> answer;
  co_await http::async_read(stream, buffer, answer, asio::use_awaitable);
  co_return ProbeAnswer{answer.result_int(), std::move(answer.body())};
}

/// Where a server that listens on all addresses is reached from here.
asio::ip::address reachable(const asio::ip::address& address) {
  if (!address.is_unspecified()) return address;
  if (address.is_v6()) return asio::ip::address_v6::loopback();
  return asio::ip::address_v4::loopback();
}

}  // namespace

ProbeAnswer ask(const std::string& address, unsigned short port, const std::string& path,
                std::chrono::milliseconds limit) {
  const tcp::endpoint place(reachable(asio::ip::make_address(address)), port);
  asio::io_context io;
  ProbeAnswer answer;
  std::exception_ptr failed;
  asio::co_spawn(io, converse(place, path, limit),
                 [&](const std::exception_ptr& error, ProbeAnswer got) {
                   failed = error;
                   answer = std::move(got);
                 });
  io.run();
  if (!failed) return answer;
  try {
    std::rethrow_exception(failed);
  } catch (const boost::system::system_error& error) {
    throw Error("no answer from " + address + ':' + std::to_string(port) + ": " +
                error.code().message());
  }
}

}  // namespace seriatim::console
