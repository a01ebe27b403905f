// A webhook receiver that takes each event once and in order, whatever becomes of relays, networks
// and itself: docs/receivers.md.
//   receiver PORT FILE: a line for each event taken; effect and memory in one write
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fstream>
#include <iostream>
#include <mutex>
#include <seriatim/receiver.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using Request = http::request<http::string_body>;

class Inbox {
 public:
  explicit Inbox(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) throw std::runtime_error("cannot open " + path);
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      seriatim::Delivery one;
      std::istringstream(line) >> one.process >> one.lane >> one.epoch >> one.sequence >>
          one.set_aside >> one.id;
      receiver_.judge(one);
      receiver_.taken(one);
    }
  }

  /// What to answer. The lock is held from the verdict to the end of the effect.
  std::pair<http::status, std::string> take(const seriatim::Delivery& delivery,
                                            const std::string& event) {
    const std::lock_guard lock(mutex_);
    const auto judgement = receiver_.judge(delivery);
    switch (judgement.verdict) {
      case seriatim::Verdict::accept:
        if (!apply(delivery, event)) return {http::status::service_unavailable, "disk full"};
        receiver_.taken(delivery);
        return {http::status::ok, ""};
      case seriatim::Verdict::repeat: return {http::status::ok, judgement.reason};
      default: return {http::status::conflict, judgement.reason};
    }
  }

 private:
  bool apply(const seriatim::Delivery& delivery, const std::string& event) const {
    std::ostringstream line;
    line << delivery.process << ' ' << delivery.lane << ' ' << delivery.epoch << ' '
         << delivery.sequence << ' ' << delivery.set_aside << ' ' << delivery.id << ' ' << event
         << '\n';
    const auto text = line.str();
    const auto written = ::write(file_, text.data(), text.size());
    return written == static_cast<ssize_t>(text.size()) && ::fdatasync(file_) == 0;
  }

  int file_;
  std::mutex mutex_;
  seriatim::Receiver receiver_;
};

seriatim::Delivery delivery_of(const Request& request) {
  const auto header = [&](const char* name) { return std::string(request.at(name)); };
  const auto process = header("Seriatim-Process");
  return {process,
          static_cast<unsigned>(std::stoul(header("Seriatim-Lane"))),
          std::stoull(header("Seriatim-Epoch")),
          std::stoull(header("Seriatim-Sequence")),
          header("Idempotency-Key").substr(process.size() + 1),
          request.count("Seriatim-Set-Aside") > 0 ? std::stoull(header("Seriatim-Set-Aside")) : 0};
}

void serve(tcp::socket socket, Inbox& inbox) {
  boost::beast::flat_buffer buffer;
  boost::system::error_code closed;
  while (!closed) {
    Request request;
    http::read(socket, buffer, request, closed);
    if (closed) return;
    http::response<http::string_body> answer(http::status::bad_request, 11);
    try {
      const auto [status, text] = inbox.take(delivery_of(request), request.body());
      answer.result(status);
      answer.body() = text;
    } catch (const std::exception& missing) {
      answer.body() = missing.what();
    }
    answer.prepare_payload();
    http::write(socket, answer, closed);
  }
}

int main(int, char** arguments) {
  Inbox inbox(arguments[2]);
  boost::asio::io_context io;
  const auto port = static_cast<unsigned short>(std::stoul(arguments[1]));
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), port});
  std::cout << "listens on " << acceptor.local_endpoint().port() << std::endl;
  for (;;) std::thread(serve, acceptor.accept(), std::ref(inbox)).detach();
}
