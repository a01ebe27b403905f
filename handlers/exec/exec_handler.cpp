#include "exec/exec_handler.hpp"

#include <csignal>
#include <utility>

#include "exec/conversation.hpp"
#include "seriatim/handlers.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds farewell_max{200};  ///< from a closed pipe to the end of the process
constexpr std::size_t secret_bytes_min = 8;
constexpr std::size_t shown_bytes_max = 400;

/// As the configuration has it: ["python3", "bookings.py"]
std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const auto& word : command)
    text += (text.empty() ? "[\"" : ", \"") + json_escape(word) + '"';
  return text + ']';
}

}  // namespace

ExecHandler::ExecHandler(ExecHandlerConfig config, NoteWriter note)
    : config_(std::move(config)), note_(std::move(note)) {
  for (const auto& [name, value] : config_.environment) {
    if (value.size() >= secret_bytes_min) redactor_.add(value);
  }
}

ExecHandler::~ExecHandler() {
  if (child_) end_child_gently();
}

BatchOutcome ExecHandler::handle(std::span<const Record> batch, const CallContext& context) {
  try {
    if (auto problem = drop_unfit_child(); !problem.empty()) {
      return {0, Outcome::retry_later(std::move(problem))};
    }
    if (child_) {
      if (auto answer = converse(batch, context, false)) return std::move(*answer);
    }
    start(batch.front());
    return converse(batch, context, true).value();
  } catch (const std::exception& e) {
    return {0, Outcome::retry_later(shown(e.what(), shown_bytes_max))};
  }
}

std::optional<Rendering> ExecHandler::render(const Record& record) {
  Rendering rendering{{{"command", command_text(config_.command)}},
                      {},
                      input_line(record, config_, "\"<lines that follow at once>\"")};
  if (!config_.working_directory.empty()) {
    rendering.envelope.emplace_back("working_directory", config_.working_directory);
  }
  for (const auto& variable : child_environment(config_)) {
    const auto name = variable.substr(0, variable.find('='));
    const bool configured = config_.environment.contains(name);
    rendering.headers.emplace_back(name, configured ? masked : variable.substr(name.size() + 1));
  }
  return rendering;
}

void ExecHandler::start(const Record& first) {
  condemned_ = false;
  process_ = first.process;
  lane_ = first.lane;
  const auto write = [this](const std::string& line) { note(line); };
  child_ = std::make_unique<Child>(
      Child::Program{config_.command, child_environment(config_), config_.working_directory},
      write);
}

std::string ExecHandler::drop_unfit_child() {
  if (!child_ || is_fit()) return {};
  const bool ended = child_->has_ended();
  const auto end = child_->reap();
  if (!end) {
    return "process " + std::to_string(child_->pid()) +
           " cannot be killed (a file system that hangs?), and none is started next to it";
  }
  if (!ended && !condemned_) note("replaced: it wrote on its standard output without being asked");
  if (ended && !end->clean) note(end->text + " between calls");
  child_.reset();
  return {};
}

bool ExecHandler::is_fit() const {
  const auto now = child_->wait(false, Child::Clock::now());
  if (now.dead || condemned_) return false;
  std::string unasked;
  if (now.output && !child_->read(unasked)) return false;
  return unasked.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::optional<BatchOutcome> ExecHandler::converse(std::span<const Record> batch,
                                                  const CallContext& context, bool is_new) {
  Conversation talk(*child_, config_, batch, context);
  talk.run();
  if (talk.failure()) return refused(talk);
  if (!talk.is_all_answered()) return broken(talk, is_new);
  if (!talk.is_fit_for_more()) kill_child();
  return BatchOutcome{talk.done(), std::nullopt};
}

/// Lines behind the failed one may be on their way into the child: it must not act upon them.
BatchOutcome ExecHandler::refused(const Conversation& talk) {
  auto outcome = *talk.failure();
  outcome.reason = outcome.reason.empty() ? config_.command.front() + " gave no reason"
                                          : shown(outcome.reason, Outcome::reason_bytes_max);
  if (talk.has_more_begun() || !talk.is_fit_for_more()) kill_child();
  return {talk.done(), std::move(outcome)};
}

std::optional<BatchOutcome> ExecHandler::broken(const Conversation& talk, bool is_new) {
  const bool gone = talk.trouble() == Conversation::Trouble::gone;
  const bool ended_itself = gone && !talk.is_late() && child_->has_ended(farewell_max);
  const auto end = child_->reap();
  if (!end) {
    condemned_ = true;
    return BatchOutcome{talk.done(), in_doubt(talk, "did not answer and cannot be killed")};
  }
  if (ended_itself && !talk.may_know_next()) {  // what it leaves is for the next one
    if (talk.done() > 0 && end->clean) {
      child_.reset();
      return BatchOutcome{talk.done(), std::nullopt};
    }
    if (talk.done() == 0 && !is_new) {
      child_.reset();
      return std::nullopt;
    }
  }
  auto why = talk.problem();
  if (gone) {
    why = ended_itself ? end->text + " without an answer" : "closed its standard input or output";
  }
  if (talk.is_late() && talk.trouble() != Conversation::Trouble::protocol) {
    why = "did not answer in time and was ended";
  }
  auto outcome = in_doubt(talk, why);
  child_.reset();
  return BatchOutcome{talk.done(), std::move(outcome)};
}

/// With the last line of its standard error, which often says why.
Outcome ExecHandler::in_doubt(const Conversation& talk, const std::string& why) const {
  auto text = config_.command.front() + ' ' + why;
  if (const auto line = child_->last_error_line(); !line.empty()) text += "; it said: " + line;
  text = shown(std::move(text), shown_bytes_max);
  return talk.may_know_next() ? Outcome::unknown(std::move(text))
                              : Outcome::retry_later(std::move(text));
}

void ExecHandler::kill_child() {
  condemned_ = !child_->reap();
  if (!condemned_) child_.reset();
}

void ExecHandler::end_child_gently() {
  child_->close_input();
  const auto half = config_.stop_grace / 2;
  if (child_->has_ended(half)) return;
  child_->signal(SIGTERM);
  (void)child_->has_ended(half);
}

std::string ExecHandler::shown(std::string text, std::size_t bytes_max) const {
  return excerpt(redactor_.redact(std::move(text)), bytes_max);
}

void ExecHandler::note(std::string text) const {
  if (note_) note_({process_, lane_, redactor_.redact(std::move(text))});
}

void register_exec(HandlerRegistry& registry) {
  HandlerKind kind{"exec", "a line of JSON to a program of your own, in any language",
                   [notes = registry.notes()](Options& options) -> HandlerFactory {
                     return [config = read_exec_config(options), notes](unsigned) {
                       return std::make_unique<ExecHandler>(config, notes);
                     };
                   }};
  kind.takes_batches_if = [](Options& options) { return options.text("mode") == "batch"; };
  registry.add(std::move(kind));
}

}  // namespace seriatim::handlers
