#include "console/http_listener.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "seriatim/error.hpp"

namespace seriatim::console {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr ::mode_t owner_and_group = 0660;

Error cannot_listen(const std::string& place, const std::string& why) {
  return Error("cannot listen on " + place + ": " + why +
               "; name another address or port in [console]");
}

/// A file that a killed relay left: nobody answers there.
bool is_left_over(const std::string& path) {
  struct ::stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  asio::io_context io;
  Local::socket socket(io);
  boost::system::error_code error;
  socket.connect(Local::endpoint(path), error);
  return error == asio::error::connection_refused;
}

}  // namespace

HttpListener::~HttpListener() {
  if (!socket_file_.empty()) ::unlink(socket_file_.c_str());
}

void HttpListener::listen(const std::string& address, unsigned short port) {
  try {
    const tcp::endpoint wanted(asio::ip::make_address(address), port);
    acceptor.open(wanted.protocol());
    acceptor.set_option(Acceptor::reuse_address(true));
    acceptor.bind(wanted);
    acceptor.listen();
    const auto got = acceptor.local_endpoint();
    std::memcpy(local.data(), got.data(), got.size());
    local.resize(got.size());
  } catch (const boost::system::system_error& error) {
    throw cannot_listen(address + ':' + std::to_string(port), error.code().message());
  }
}

void HttpListener::listen(const std::string& unix_path) {
  try {
    const Local::endpoint wanted(unix_path);
    if (is_left_over(unix_path)) ::unlink(unix_path.c_str());
    acceptor.open(wanted.protocol());
    acceptor.bind(wanted);
    socket_file_ = unix_path;
    if (::chmod(unix_path.c_str(), owner_and_group) != 0) {
      throw std::system_error(errno, std::generic_category());
    }
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw cannot_listen("unix:" + unix_path, error.code().message());
  } catch (const std::system_error& error) {
    throw cannot_listen("unix:" + unix_path, error.code().message());
  }
}

}  // namespace seriatim::console
