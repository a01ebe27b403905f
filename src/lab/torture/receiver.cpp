#include "lab/torture/receiver.hpp"

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_set>

#include "lab/http/http_service.hpp"

namespace seriatim::torture {

using lab::ReceivedRequest;
using lab::Reply;
using std::chrono::microseconds;

namespace {

enum class Answer { accept, refuse, ignore, accept_and_lose };

/// What to do about a call, and how long it takes.
struct Plan {
  Answer answer = Answer::accept;
  microseconds takes{0};
  int refusal = 500;
  bool says_when = false;  ///< … with a Retry-After
};

template <class Number>
Number number_in(const ReceivedRequest& request, const char* name, Number absent) {
  const auto text = request.header(name).value_or("");
  Number value = absent;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Call call_from(const ReceivedRequest& request) {
  Call call;
  const auto key = request.header("Idempotency-Key").value_or("");
  if (const auto colon = key.rfind(':'); colon != std::string::npos) {
    std::from_chars(key.data() + colon + 1, key.data() + key.size(), call.id);
  }
  call.lane = number_in<unsigned>(request, "Seriatim-Lane", 0);
  call.previous_id = number_in<std::int64_t>(request, "Seriatim-Previous-Id", -1);
  call.sequence = number_in<std::uint64_t>(request, "Seriatim-Sequence", 0);
  call.epoch = number_in<std::uint64_t>(request, "Seriatim-Epoch", 0);
  call.attempt = number_in<unsigned>(request, "Seriatim-Attempt", 0);
  call.late = request.header("Seriatim-Late").has_value();
  call.body = hash_of(request.body);
  return call;
}

/// A key is refused for a while.
struct Spell {
  std::chrono::steady_clock::time_point until;
  int refusal = 500;
  bool says_when = false;
};
constexpr std::size_t spells_max = 6;  ///< at a time, over all streams
constexpr int spell_ms_max = 2'500;

/// What one stream's calls did. Guarded by Impl::mutex.
struct Log {
  std::vector<Call> calls;
  std::unordered_set<std::int64_t> delivered;
  std::map<unsigned, std::size_t> answers_lost;
};

}  // namespace

/// `mutex` guards all that changes.
struct Receiver::Impl {
  explicit Impl(const Options& o) : options(o), random(o.seed), logs(o.streams) {
    service.reply_with([this](const ReceivedRequest& request) { return answer(request); });
  }

  Plan draw();
  void draw_spell(const std::string& path, Plan& plan);
  std::size_t begin(Log& log, const Call& call, const Plan& plan);
  Reply answer(const ReceivedRequest& request);

  const Options options;
  std::mt19937_64 random;
  mutable std::mutex mutex;
  std::condition_variable released;
  std::vector<Log> logs;
  std::size_t held = 0;
  std::size_t answered = 0;
  std::size_t holds_ended = 0;
  bool holding = false;
  bool refusing = false;
  std::map<std::string, Spell> spells;  ///< by path: keys that are refused

  /// Ends first: its threads use the rest.
  lab::HttpService service{{.record = false, .request_bytes_max = 1 << 20}};
};

Plan Receiver::Impl::draw() {
  const auto one_in = [&](unsigned n) {
    return std::uniform_int_distribution(0U, n - 1)(random) == 0;
  };
  const auto up_to = [&](int most) {
    return microseconds(std::uniform_int_distribution(0, most)(random));
  };
  Plan plan;
  if (options.takes_time) plan.takes = up_to(40'000);
  if (one_in(10)) plan.takes = up_to(3'000);
  if (one_in(150)) plan.takes = up_to(40'000);
  if (one_in(60)) plan.answer = Answer::refuse;
  if (one_in(5'000)) plan.answer = Answer::ignore;
  if (options.loses_answers && one_in(1'500)) plan.answer = Answer::accept_and_lose;
  return plan;
}

/// Every call of a key under a spell is refused in one way; one call in 150 begins one.
void Receiver::Impl::draw_spell(const std::string& path, Plan& plan) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(spells, [&](const auto& spell) { return spell.second.until <= now; });
  const auto dice = random();
  if (dice % 150 == 0 && spells.size() < spells_max) {
    const auto lasts = std::chrono::milliseconds(dice / 1'024 % spell_ms_max);
    spells.try_emplace(path,
                       Spell{now + lasts, dice / 150 % 2 == 0 ? 500 : 503, dice / 300 % 2 == 0});
  }
  const auto spell = spells.find(path);
  if (spell == spells.end()) return;
  plan.answer = Answer::refuse;
  plan.refusal = spell->second.refusal;
  plan.says_when = spell->second.says_when;
}

std::size_t Receiver::Impl::begin(Log& log, const Call& call, const Plan& plan) {
  log.calls.push_back(call);
  auto& noted = log.calls.back();
  noted.begun = noted.ended = monotonic_now();
  noted.accepted = plan.answer == Answer::accept || plan.answer == Answer::accept_and_lose;
  if (noted.accepted) log.delivered.insert(noted.id);
  if (plan.answer == Answer::accept_and_lose) log.answers_lost[noted.lane] += 1;
  if (holding) held += 1;
  return log.calls.size() - 1;
}

/// Notes the call, takes the time drawn or waits for the end of the hold, and answers.
Reply Receiver::Impl::answer(const ReceivedRequest& request) {
  const auto& path = request.target;
  unsigned stream = 0;
  if (!path.empty()) std::from_chars(path.data() + 1, path.data() + path.size(), stream);
  if (stream >= logs.size()) return Reply::doing(Reply::Act::close_before_answer);
  const auto call = call_from(request);

  std::unique_lock lock(mutex);
  auto plan = draw();
  if (options.refuses_keys) draw_spell(path, plan);
  if (refusing) plan.answer = Answer::refuse;
  if (holding) plan = {};
  const auto number = begin(logs[stream], call, plan);
  if (holding) {
    released.wait(lock, [this, before = holds_ended] { return holds_ended != before; });
  } else if (plan.takes.count() > 0) {
    lock.unlock();
    std::this_thread::sleep_for(plan.takes);
    lock.lock();
  }
  logs[stream].calls[number].ended = monotonic_now();
  answered += 1;

  if (plan.answer == Answer::accept) return Reply::with_status(200);
  if (plan.answer == Answer::refuse) {
    auto refusal = Reply::with_status(plan.refusal);
    if (plan.says_when) refusal.headers.emplace_back("Retry-After", "1");
    return refusal;
  }
  auto silent = Reply::doing(Reply::Act::close_before_answer);
  silent.delay = options.silence;
  return silent;
}

Receiver::Receiver(const Options& options) : impl_(std::make_unique<Impl>(options)) {}

Receiver::~Receiver() {
  hold(false);
}

std::uint16_t Receiver::port() const {
  return impl_->service.port();
}

void Receiver::hold(bool held) {
  const std::scoped_lock guard(impl_->mutex);
  impl_->holding = held;
  impl_->held = 0;
  if (held) return;
  impl_->holds_ended += 1;
  impl_->released.notify_all();
}

std::size_t Receiver::held_calls() const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->held;
}

void Receiver::refuse_all(bool refusing) {
  const std::scoped_lock guard(impl_->mutex);
  impl_->refusing = refusing;
}

std::vector<Call> Receiver::calls(unsigned stream) const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->logs[stream].calls;
}

std::size_t Receiver::delivered(unsigned stream) const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->logs[stream].delivered.size();
}

std::size_t Receiver::call_count() const {
  const std::scoped_lock guard(impl_->mutex);
  std::size_t count = 0;
  for (const auto& log : impl_->logs) count += log.calls.size();
  return count;
}

std::size_t Receiver::answered() const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->answered;
}

std::map<unsigned, std::size_t> Receiver::answers_lost(unsigned stream) const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->logs[stream].answers_lost;
}

std::int64_t monotonic_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace seriatim::torture
