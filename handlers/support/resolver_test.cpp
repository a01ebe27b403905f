// Name resolution under a deadline, with lookups that misbehave.
#include "support/resolver.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "seriatim/error.hpp"

using namespace std::chrono_literals;
using namespace seriatim::handlers;
using Clock = std::chrono::steady_clock;

namespace {

using Addresses = std::vector<std::string>;

Addresses addresses_in(const Resolver::Result& result) {
  const auto* addresses = std::get_if<Addresses>(&result);
  return addresses ? *addresses : Addresses{};
}

std::string failure_in(const Resolver::Result& result) {
  const auto* failure = std::get_if<Resolver::Failure>(&result);
  return failure ? failure->what : "";
}

}  // namespace

TEST_CASE("addresses and failures are passed on") {
  Resolver resolver([](const std::string& host, auto) -> Addresses {
    if (host == "none") return {};
    if (host == "bad") throw seriatim::Error("Name or service not known");
    return {"192.0.2.1", "2001:db8::1"};
  });
  CHECK(addresses_in(resolver.resolve("a", Clock::now() + 5s)).size() == 2);
  CHECK(failure_in(resolver.resolve("bad", Clock::now() + 5s)) == "Name or service not known");
  CHECK(failure_in(resolver.resolve("none", Clock::now() + 5s)) == "the name has no address");
  CHECK(addresses_in(resolver.resolve("a", Clock::now() + 5s)).size() == 2);
}

TEST_CASE("a slow lookup does not hold the caller past the deadline, nor start a second one") {
  std::promise<void> release;
  auto released = release.get_future().share();
  std::atomic<int> lookups = 0;
  Resolver resolver([&, released](const std::string&, auto) {
    ++lookups;
    released.wait();
    return Addresses{"192.0.2.1"};
  });
  const auto began = Clock::now();
  CHECK(failure_in(resolver.resolve("slow", began + 50ms)).find("in time") != std::string::npos);
  CHECK(failure_in(resolver.resolve("slow", began + 100ms)).find("in time") != std::string::npos);
  CHECK(failure_in(resolver.resolve("other", began + 150ms)).find("in time") != std::string::npos);
  CHECK(Clock::now() - began < 2s);
  CHECK(lookups == 1);
  release.set_value();
  CHECK(addresses_in(resolver.resolve("slow", Clock::now() + 5s)).size() == 1);
  CHECK(lookups == 1);
}

TEST_CASE("the system's resolver knows this host and not what does not exist") {
  CHECK(!resolve_by_system("localhost", 5s).empty());
  CHECK_THROWS_AS((void)resolve_by_system("no-such-name.invalid", 2s), seriatim::Error);
}
