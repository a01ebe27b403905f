#pragma once

#include <string>
#include <vector>

#include "lab/writers/busy.hpp"

namespace seriatim::lab {

/// The demo's own table, and the people booking: concurrent transactions that stay open for a
/// while, overtake each other at commit, and sometimes roll back.
class Bookings {
 public:
  /// Creates table `bookings`; nobody books yet.
  explicit Bookings(const std::string& url);

  void start() { writers_.start(); }
  /// Waits for the transactions in flight. Throws what stopped a writer, if anything did.
  void stop() { writers_.stop(); }

  /// One booking with this number, committed at once; answers its id.
  std::string book(const std::string& phone);
  void correct_phone(const std::string& id, const std::string& phone);

  /// Committed bookings in the declared order.
  [[nodiscard]] std::vector<std::string> committed_ids();
  [[nodiscard]] std::uint64_t rolled_back() const { return tally_.rolled_back; }

 private:
  Session session_;
  Tally tally_;
  Writers writers_;
};

}  // namespace seriatim::lab
