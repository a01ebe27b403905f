#include "simulation/server.hpp"

namespace seriatim::simulation {

void Server::start() {
  flush_wal_sometimes();
  plan_crash();
  plan_termination();
  step_clock_sometimes();
  set_clock_wrong_sometimes();
}

BackendPtr Server::connect(unsigned relay, const std::string& holder,
                           std::shared_ptr<LeaseWatch> watch) {
  if (!up_) return nullptr;
  std::erase_if(backends_, [](const BackendPtr& b) { return !b->alive; });
  auto backend = std::make_shared<Backend>();
  backend->relay = relay;
  backend->holder = holder;
  backend->watch = std::move(watch);
  backends_.push_back(backend);
  return backend;
}

void Server::close(const BackendPtr& backend) {
  if (!backend) return;
  backend->alive = false;
}

void Server::end(const BackendPtr& backend, const char* why) {
  if (!backend || !backend->alive) return;
  close(backend);
  backend->ended_at = stage_.now();
  backend->cut_off = stage_.strikes(stage_.setup.cut_off);
  stage_.fault(backend->relay, why, true, backend->cut_off);
}

void Server::notify() {
  if (!stage_.setup.hints) return;
  for (const auto& listener : listeners_) {
    if (!stage_.strikes(0.1)) listener();
  }
}

/// The WAL writer: an asynchronous commit is safe some time later.
void Server::flush_wal_sometimes() {
  stage_.scheduler.after(stage_.random.between(200, 600) * millisecond, [this] {
    if (up_) table_.wal.flush();
    flush_wal_sometimes();
  });
}

/// Back and forward by no more than rows must be old.
void Server::step_clock_sometimes() {
  const auto step = stage_.setup.clock_step;
  if (step == 0) return;
  stage_.scheduler.after(stage_.random.between(1, 10) * millisecond, [this, step] {
    const auto by =
        table_.clock_step() < 0 ? -table_.clock_step() : -stage_.random.between(1, step);
    table_.step_clock(by);
    step_clock_sometimes();
  });
}

/// As people and time daemons do it: forward or back, by more than rows must be old.
void Server::set_clock_wrong_sometimes() {
  const auto leap = stage_.setup.clock_leap;
  if (leap == 0) return;
  stage_.scheduler.after(stage_.random.between(100, 2'000) * millisecond, [this, leap] {
    if (stage_.faults_over) return;
    table_.step_clock(stage_.random.between(-leap, leap));
    set_clock_wrong_sometimes();
  });
}

void Server::plan_crash() {
  if (stage_.setup.server_crash == 0) return;
  stage_.scheduler.after(stage_.random.between(1, 2 * stage_.setup.server_crash), [this] {
    if (stage_.faults_over) return;
    crash();
    plan_crash();
  });
}

void Server::crash_within(Micros time) {
  stage_.scheduler.after(stage_.random.between(1, time), [this] {
    if (!stage_.faults_over) crash();
  });
}

void Server::crash() {
  if (!up_) return;
  stage_.fault(std::nullopt, "server crashes");
  for (const auto& backend : backends_) end(backend, "backend dies with the server");
  cursors_.server_crashed();
  table_.crash();
  up_ = false;
  stage_.scheduler.after(stage_.random.between(1, 500) * millisecond, [this] { up_ = true; });
}

void Server::plan_termination() {
  if (stage_.setup.backend_terminated == 0) return;
  stage_.scheduler.after(stage_.random.between(1, 2 * stage_.setup.backend_terminated), [this] {
    if (stage_.faults_over) return;
    terminate_a_backend();
    plan_termination();
  });
}

void Server::terminate_a_backend() {
  if (backends_.empty()) return;
  const auto last = static_cast<std::int64_t>(backends_.size()) - 1;
  end(backends_[static_cast<std::size_t>(stage_.random.between(0, last))], "backend terminated");
}

}  // namespace seriatim::simulation
