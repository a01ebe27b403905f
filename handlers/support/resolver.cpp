#include "support/resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>
#include <utility>

#include "seriatim/error.hpp"
#include "support/fd.hpp"
#include "support/readiness.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// The resolver's state belongs to the calling thread. One round over the servers within `limit`.
void cut_system_timeouts(seconds limit) {
  if (::res_init() != 0) return;
  const auto servers = std::max<std::int64_t>(1, _res.nscount);
  _res.retrans = static_cast<int>(std::clamp<std::int64_t>(limit.count() / servers, 1, 30));
  _res.retry = 1;
}

std::string numeric(const addrinfo& info) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(info.ai_addr, info.ai_addrlen, text.data(), text.size(), nullptr,
                                   0, NI_NUMERICHOST);
  return failed ? std::string() : std::string(text.data());
}

}  // namespace

std::vector<std::string> resolve_by_system(const std::string& host, seconds limit) {
  cut_system_timeouts(limit);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); failed != 0) {
    throw Error(::gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (auto* info = list; info != nullptr; info = info->ai_next) {
    if (auto text = numeric(*info); !text.empty()) addresses.push_back(std::move(text));
  }
  return addresses;
}

struct Resolver::Job {
  std::string host;
  Fd finished{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  ///< becomes readable
  std::mutex mutex;
  Result result;

  void finish(Result value) {
    const std::lock_guard lock(mutex);
    result = std::move(value);
    (void)::eventfd_write(finished.get(), 1);
  }
  Result take() {
    const std::lock_guard lock(mutex);
    return std::move(result);
  }

  void run(const Lookup& lookup, seconds limit) {
    try {
      auto addresses = lookup(host, limit);
      if (addresses.empty()) throw Error("the name has no address");
      finish(std::move(addresses));
    } catch (const std::exception& e) {
      finish(Failure{e.what()});
    }
  }
};

Resolver::Resolver(Lookup lookup) : lookup_(std::move(lookup)) {}

bool Resolver::wait_for_job(Clock::time_point deadline) const {
  return wait_for_events(job_->finished.get(), POLLIN, deadline) != 0;
}

Resolver::Result Resolver::resolve(const std::string& host, Clock::time_point deadline) {
  const Failure late{"the name server did not answer in time"};
  if (job_ && job_->host != host) {
    if (!wait_for_job(deadline)) return late;
    job_.reset();
  }
  if (!job_) {
    auto job = std::make_shared<Job>();
    if (job->finished.get() < 0) return Failure{"no descriptor is left to wait for the name"};
    job->host = host;
    const auto limit = std::chrono::ceil<seconds>(deadline - Clock::now());
    std::thread([job, lookup = lookup_, limit] { job->run(lookup, limit); }).detach();
    job_ = std::move(job);  // only now: a thread that cannot be had must not be waited for
  }
  if (!wait_for_job(deadline)) return late;
  return std::exchange(job_, nullptr)->take();
}

}  // namespace seriatim::handlers
