#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace seriatim::app {

/// The demo's own table, and the people booking: concurrent transactions that stay open for a
/// while, overtake each other at commit, and sometimes roll back.
class Bookings {
 public:
  /// Creates table `bookings`; nobody books yet.
  explicit Bookings(std::string url);
  ~Bookings() { request_stop(); }
  Bookings(const Bookings&) = delete;
  Bookings& operator=(const Bookings&) = delete;

  void start(unsigned writers);
  /// Waits for the transactions in hand. Throws what stopped a writer, if anything did.
  void stop();

  /// One booking with this number, committed at once; answers its id.
  std::string book(const std::string& phone);
  void correct_phone(const std::string& id, const std::string& phone);

  /// Committed bookings in the declared order.
  [[nodiscard]] std::vector<std::string> committed_ids() const;
  [[nodiscard]] unsigned rolled_back() const { return rolled_back_; }

 private:
  void write(const std::stop_token& stop, unsigned seed);
  /// To all of them before one is waited for.
  void request_stop();

  std::string url_;
  std::atomic<unsigned> rolled_back_ = 0;
  std::atomic<bool> broken_ = false;
  std::vector<std::jthread> writers_;
};

}  // namespace seriatim::app
