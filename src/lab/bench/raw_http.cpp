#include "lab/bench/raw_http.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "lab/bench/clock.hpp"
#include "seriatim/error.hpp"

namespace seriatim::bench {

namespace http = boost::beast::http;
using tcp = boost::asio::ip::tcp;

namespace {

/// As large as what the http handler sends for a row of the bench.
http::request<http::string_body> request_like_ours() {
  http::request<http::string_body> request{http::verb::post, "/", 11};
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::content_type, "application/json");
  for (const char* name :
       {"Idempotency-Key", "Seriatim-Process", "Seriatim-Lane", "Seriatim-Sequence",
        "Seriatim-Epoch", "Seriatim-Attempt", "Seriatim-Previous-Id"}) {
    request.set(name, "bench_1:123456");
  }
  request.body() = std::string(250, 'x');
  request.prepare_payload();
  return request;
}

}  // namespace

double raw_http(unsigned short port, std::uint64_t requests) {
  boost::asio::io_context context;
  tcp::socket socket(context);
  socket.connect({boost::asio::ip::address_v4::loopback(), port});
  socket.set_option(tcp::no_delay(true));
  const auto request = request_like_ours();
  boost::beast::flat_buffer buffer;
  const auto began = now_ns();
  for (std::uint64_t i = 0; i < requests; ++i) {
    http::write(socket, request);
    http::response<http::string_body> response;
    http::read(socket, buffer, response);
    if (response.result() != http::status::ok) throw Error("the bench's receiver did not say 200");
  }
  return per_second(requests, now_ns() - began);
}

}  // namespace seriatim::bench
