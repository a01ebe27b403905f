#include "exec/conversation.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "exec/answer.hpp"
#include "support/excerpt.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t ahead_bytes = 64 * 1024;  ///< rendered before they are written
constexpr milliseconds kill_takes{20};  ///< kept back, so that the call ends by its deadline

}  // namespace

std::string input_line(const Record& record, const ExecHandlerConfig& config,
                       std::string_view rest) {
  auto line = record_line(record, config.payload);
  if (config.batches) line.raw("rest", rest);
  return line.take();
}

Conversation::Conversation(Child& child, const ExecHandlerConfig& config,
                           std::span<const Record> batch, const CallContext& context)
    : child_(child), config_(config), batch_(batch), context_(context) {
  const auto left = std::max(context.deadline - Clock::now(), Clock::duration::zero());
  kill_at_ = context.deadline - std::min<Clock::duration>(kill_takes, left / 4);
  terminate_at_ = kill_at_ - std::min<Clock::duration>(config.stop_grace, left / 4);
}

void Conversation::run() {
  while (!is_over()) step();
}

/// One that is late may still answer for what it had read.
bool Conversation::is_over() const {
  if (failure_ || trouble_ != Trouble::none) return true;
  if (done_ < begun()) return Clock::now() >= kill_at_;
  return done_ == batch_.size() || !may_begin_next();
}

/// A group that was begun is written whole: a child may wait for all of it before it answers.
bool Conversation::may_begin_next() const {
  if (begun() == batch_.size() || late_ || !child_.takes_input()) return false;
  if (!config_.batches && begun() > done_) return false;
  const bool within_group = config_.batches && begun() % config_.group_rows != 0;
  return begun() == 0 || within_group || !context_.should_yield();
}

void Conversation::render() {
  if (to_write_at_ == to_write_.size()) {
    to_write_.clear();
    to_write_at_ = 0;
  }
  while (to_write_.size() < ahead_bytes && may_begin_next()) {
    const auto index = begun();
    const auto left_of_group = config_.group_rows - index % config_.group_rows - 1;
    const auto rest = std::min<std::size_t>(left_of_group, batch_.size() - index - 1);
    begins_.push_back(written_ + to_write_.size() - to_write_at_);
    to_write_ += input_line(batch_[index], config_, std::to_string(rest));
    to_write_ += '\n';
  }
}

void Conversation::step() {
  render();
  const bool to_write = to_write_at_ < to_write_.size() && !late_;
  const auto ready = child_.wait(to_write, late_ ? kill_at_ : terminate_at_);
  if (ready.output) read();
  if (ready.input && !is_over()) write();
  const bool deaf = !child_.takes_input() && waits_for_the_rest_of_a_line();
  const bool silent = ready.dead && !ready.output;  // all that it wrote was read
  if ((deaf || silent) && !is_over()) trouble_ = Trouble::gone;
  if (late_ || is_over() || Clock::now() < terminate_at_) return;
  late_ = true;
  child_.signal(SIGTERM);
}

void Conversation::write() {
  const auto n = child_.write(std::string_view(to_write_).substr(to_write_at_));
  to_write_at_ += n;
  written_ += n;
}

bool Conversation::waits_for_the_rest_of_a_line() const {
  if (done_ == begun()) return false;
  const auto all = written_ + to_write_.size() - to_write_at_;
  return (done_ + 1 < begun() ? begins_[done_ + 1] : all) > written_;
}

void Conversation::read() {
  const bool open = child_.read(answers_);
  take_lines();
  if (!open && !is_over()) trouble_ = Trouble::gone;
}

void Conversation::take_lines() {
  std::size_t at = 0;
  for (auto end = answers_.find('\n'); end != std::string::npos; end = answers_.find('\n', at)) {
    const auto line = std::string_view(answers_).substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      if (done_ == begun() || failure_ || !problem_.empty()) break;
      take(line);
    }
    at = end + 1;
  }
  answers_.erase(0, at);
  if (answers_.size() > answer_bytes_max && problem_.empty()) {
    breach("wrote an answer longer than " + std::to_string(answer_bytes_max / 1024) + " KiB");
  }
}

void Conversation::take(std::string_view line) {
  auto answer = read_answer(line);
  const auto& id = batch_[done_].id();
  if (!answer.problem.empty()) {
    breach("wrote on its standard output what is no answer (" + answer.problem +
           "), where standard error is for all else: " + excerpt(line, 100));
  } else if (answer.id != id) {
    breach("answered for id " + excerpt(answer.id, 64) + " when it was the turn of " +
           excerpt(id, 64));
  } else if (answer.outcome.is_done()) {
    done_ += 1;
  } else {
    failure_ = std::move(answer.outcome);
  }
}

void Conversation::breach(std::string problem) {
  trouble_ = Trouble::protocol;
  problem_ = std::move(problem);
}

/// What it had not read it cannot have acted upon.
bool Conversation::may_know_next() const {
  if (done_ >= begun()) return false;
  const auto read = written_ - std::min<std::uint64_t>(child_.unread(), written_);
  return read > begins_[done_];
}

}  // namespace seriatim::handlers
