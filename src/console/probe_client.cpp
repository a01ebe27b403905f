#include "console/probe_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <exception>

#include "seriatim/error.hpp"

namespace seriatim::console {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using ProbeStream = boost::beast::basic_stream<asio::generic::stream_protocol>;

/// Where a server that listens on all addresses is reached from here.
asio::ip::address reachable(const asio::ip::address& address) {
  if (!address.is_unspecified()) return address;
  if (address.is_v6()) return asio::ip::address_v6::loopback();
  return asio::ip::address_v4::loopback();
}

/// What a relay takes for its own name at this place.
std::string host_of(const ProbePlace& place) {
  if (!place.unix_path.empty()) return "localhost";
  const auto address = reachable(asio::ip::make_address(place.address));
  const auto text = address.to_string();
  return address.is_v6() ? '[' + text + ']' : text;
}

asio::generic::stream_protocol::endpoint endpoint_of(const ProbePlace& place) {
  if (!place.unix_path.empty()) return asio::local::stream_protocol::endpoint(place.unix_path);
  return asio::ip::tcp::endpoint(reachable(asio::ip::make_address(place.address)), place.port);
}

template <class Stream>
asio::awaitable<ProbeAnswer> exchange(Stream& stream, std::string host, std::string path) {
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, host);
  request.set(http::field::connection, "close");
  co_await http::async_write(stream, request, asio::use_awaitable);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> answer;
  co_await http::async_read(stream, buffer, answer, asio::use_awaitable);
  co_return ProbeAnswer{answer.result_int(), std::move(answer.body())};
}

/// The certificate is not checked: it names the relay as others call it, and a probe of one's own
/// relay sends no secret.
asio::awaitable<ProbeAnswer> converse(ProbePlace place, std::string path,
                                      std::chrono::milliseconds limit) {
  ProbeStream stream(co_await asio::this_coro::executor);
  stream.expires_after(limit);
  co_await stream.async_connect(endpoint_of(place), asio::use_awaitable);
  if (!place.tls) co_return co_await exchange(stream, host_of(place), path);
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<ProbeStream&> encrypted(stream, context);
  co_await encrypted.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
  co_return co_await exchange(encrypted, host_of(place), path);
}

}  // namespace

ProbeAnswer ask(const std::string& address, unsigned short port, const std::string& path,
                std::chrono::milliseconds limit) {
  return ask(ProbePlace{address, port}, path, limit);
}

ProbeAnswer ask(const ProbePlace& place, const std::string& path, std::chrono::milliseconds limit) {
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
    const auto name = place.unix_path.empty() ? place.address + ':' + std::to_string(place.port)
                                              : "unix:" + place.unix_path;
    throw Error("no answer from " + name + ": " + error.code().message());
  }
}

}  // namespace seriatim::console
