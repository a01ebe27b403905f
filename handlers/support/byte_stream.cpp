#include <array>
#include <boost/asio/error.hpp>

#include "support/transport.hpp"

namespace seriatim::handlers {

namespace {

namespace asio = boost::asio;

template <class Stream>
class StreamOfBytes final : public ByteStream {
 public:
  explicit StreamOfBytes(Stream stream) : stream_(std::move(stream)) {}

  std::string talk(std::string_view bytes, const Take& take, Clock::time_point deadline) override {
    auto& tcp = tcp_of(stream_);
    tcp.expires_at(deadline);
    tcp.listen(true);
    DeadlineStream::Error wrote;
    DeadlineStream::Error read;
    bool complete = false;
    const auto hear = [&](bool waits) {
      tcp.wait(waits);
      while (!complete && !read) complete = hear_some(take, read);
      tcp.wait(true);
      if (read == asio::error::would_block) read = {};
      tcp.listen(!read);
    };
    while (!wrote && !complete && (!bytes.empty() || !tcp.is_flushed())) {
      if (bytes.empty()) {
        (void)tcp.flush(wrote);
      } else {
        bytes.remove_prefix(stream_.write_some(asio::buffer(bytes), wrote));
      }
      if (!wrote && tcp.peer_spoke()) hear(false);
    }
    if (complete && !wrote) {
      // An answer to what was not yet sent is none we know.
      return bytes.empty() && tcp.is_flushed() ? "" : "answered before it was asked";
    }
    hear(true);
    // A receiver that hangs up breaks both ways; then the reading end knows more.
    if (complete && !wrote) return {};
    return text_of(complete ? wrote : read);
  }

  bool is_quiet() override { return is_quiet_stream(stream_); }

 private:
  bool hear_some(const Take& take, DeadlineStream::Error& error) {
    const auto size = stream_.read_some(asio::buffer(arrived_), error);
    return size > 0 && take({arrived_.data(), size});
  }

  Stream stream_;
  std::array<char, 16 << 10> arrived_{};
};

}  // namespace

std::unique_ptr<ByteStream> make_byte_stream(PlainStream stream) {
  return std::make_unique<StreamOfBytes<PlainStream>>(std::move(stream));
}
std::unique_ptr<ByteStream> make_byte_stream(TlsStream stream) {
  return std::make_unique<StreamOfBytes<TlsStream>>(std::move(stream));
}

}  // namespace seriatim::handlers
