// `seriatim top`: the lanes on a terminal, read from the database alone, so that it works if every
// relay is dead.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "app/desk/orders.hpp"
#include "app/lanes_reader.hpp"
#include "app/signals.hpp"
#include "app/text.hpp"
#include "app/top/frame.hpp"
#include "app/top/model.hpp"
#include "app/top/terminal.hpp"
#include "app/verbs/verbs.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

using namespace top;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = Model::Clock;

constexpr unsigned page_rows = 20;
constexpr milliseconds signal_interval{200};  ///< Ctrl-C is noticed so soon

class Top {
 public:
  Top(const TopVerb& verb, Context& context)
      : verb_(verb), context_(context), reader_(context.processes(verb.processes), context) {
    view_.may_act = verb.act;
  }

  void run(const std::stop_token& stop) {
    Terminal terminal;
    Appearance drawn{0, 0};
    bool changed = true;
    while (!stop.stop_requested() && !ended_) {
      if (Clock::now() >= next_read_) {
        read();
        changed = true;
      }
      const auto appearance = terminal.appearance();
      if (changed || appearance.width != drawn.width || appearance.height != drawn.height) {
        draw(terminal, appearance);
        drawn = appearance;
        changed = false;
      }
      const auto left = std::chrono::ceil<milliseconds>(next_read_ - Clock::now());
      if (const auto key = terminal.key(std::clamp(left, milliseconds{0}, signal_interval))) {
        take(*key);
        changed = true;
      }
    }
  }

 private:
  void draw(const Terminal& terminal, const Appearance& appearance) {
    shown_ = model_.lanes(view_.sort, view_.filter);
    view_.selected = std::min(view_.selected, shown_.empty() ? 0 : shown_.size() - 1);
    terminal.draw(frame(shown_,
                        verdict(model_.all(), std::chrono::system_clock::now()) + age_text(), view_,
                        appearance));
  }

  /// The screen may be older than a read: after a slow one, nothing is read for a while.
  [[nodiscard]] std::string age_text() const {
    const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - read_at_);
    return age > seconds(view_.seconds + 1) ? " (as of " + human_duration(age) + " ago)" : "";
  }

  /// A database that is away for a while is reported and asked again; what was read stays on the
  /// screen, with the time it is from.
  void read() {
    try {
      const auto lanes = reader_.read();
      if (lanes != latest_) {
        read_at_ = Clock::now();
        model_.take(*lanes, read_at_);
      }
      latest_ = lanes;
      if (failed_) view_.note.clear();
      failed_ = false;
      read_page();
    } catch (const Error& error) {
      failed_ = true;
      view_.note = "cannot be read now: " + printable(context_.secrets().redact(error.what()), 300);
    }
    next_read_ = Clock::now() + seconds(view_.seconds);
  }

  [[nodiscard]] const postgres::LaneReport* selected() const {
    return view_.selected < shown_.size() ? &shown_[view_.selected].report : nullptr;
  }
  [[nodiscard]] const postgres::Target& target() const {
    return context_.process(selected()->lane.process).target;
  }

  void read_page() {
    view_.page_lines.clear();
    if (view_.page.empty() || selected() == nullptr) return;
    postgres::Admin admin(context_.database_url());
    if (view_.page == "rows that wait") {
      add_lines(rows_table(admin.peek(target(), selected()->lane.lane, page_rows), false, false));
    } else if (view_.page == "parked rows") {
      std::vector<postgres::ParkedRow> rows;
      admin.parked(target(), std::nullopt, page_rows,
                   [&](const postgres::ParkedRow& row) { rows.push_back(row); });
      add_lines(parked_text(selected()->lane.process, rows, selected()->parked, false));
    } else {
      for (const auto& entry : admin.journal(target(), std::nullopt, page_rows)) {
        view_.page_lines.push_back(entry.at + "  " + entry.act +
                                   (entry.lane ? " lane " + std::to_string(*entry.lane) : "") +
                                   (entry.row_id ? " row " + printable(*entry.row_id) : "") +
                                   "  by " + printable(entry.who) +
                                   (entry.why.empty() ? "" : ": " + printable(entry.why)));
      }
      if (view_.page_lines.empty()) view_.page_lines.emplace_back("nothing was done to it yet");
    }
  }

  void add_lines(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('\n', at), text.size());
      view_.page_lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  // --- keys -------------------------------------------------------------------------------------

  void take(const std::string& key) {
    if (!view_.question.empty()) return answer(key == "y");
    if (view_.typing) return type(key);
    if (key == "q") ended_ = true;
    if (key == "up" || key == "k") select(view_.selected == 0 ? 0 : view_.selected - 1);
    if (key == "down" || key == "j") select(view_.selected + 1);
    if (key == "enter") open("rows that wait");
    if (key == "p") open("parked rows");
    if (key == "J") open("journal");
    if (key == "escape") open("");
    if (key == "f") view_.typing = true;
    if (key == "s") view_.sort = static_cast<Sort>((static_cast<int>(view_.sort) + 1) % 4);
    if (key == "1" || key == "5") {
      view_.seconds = key == "1" ? 1 : 5;
      next_read_ = Clock::now();
    }
    if (verb_.act && selected() != nullptr) {
      if (key == "r") ask("retry", "try the row of process ");
      if (key == "z") ask("pause", "pause process ");
      if (key == "u") ask("resume", "resume process ");
    }
  }

  void type(const std::string& key) {
    if (key == "enter" || key == "escape") {
      view_.typing = false;
      if (key == "escape") view_.filter.clear();
    } else if (key == "erase") {
      if (!view_.filter.empty()) view_.filter.pop_back();
    } else if (key.size() == 1 && key[0] > ' ') {
      view_.filter += key;
    }
  }

  void select(std::size_t lane) {
    view_.selected = lane;
    if (!view_.page.empty()) next_read_ = Clock::now();
  }

  /// Again: closes it.
  void open(const std::string& page) {
    view_.page = view_.page == page ? "" : page;
    view_.page_lines.clear();
    next_read_ = Clock::now();
  }

  // --- acts -------------------------------------------------------------------------------------

  void ask(const std::string& name, const std::string& what) {
    const auto& lane = selected()->lane;
    view_.question = what + printable(lane.process) + (name == "retry" ? " again at once?" : "?");
    asked_ = [this, name, process = lane.process] { perform_act(name, process); };
  }

  void answer(bool yes) {
    view_.question.clear();
    if (const auto act = std::exchange(asked_, {}); yes && act) act();
  }

  void perform_act(const std::string& name, const std::string& process) {
    try {
      postgres::Admin admin(context_.database_url());
      console::Order order;
      order.process = process;
      order.act = name;
      const auto performed = perform_order(admin, context_.process(process).target, order,
                                           context_.actor(verb_.who, "seriatim top"));
      std::string done;
      for (const auto& line : performed.lines) {
        done += (done.empty() ? "" : "; ") + printable(line);
      }
      view_.note = done;
    } catch (const Error& error) {
      view_.note = name + ": " + printable(context_.secrets().redact(error.what()), 300);
    }
    next_read_ = Clock::now();
  }

  const TopVerb& verb_;
  Context& context_;
  LanesReader reader_;
  Model model_;
  View view_;
  std::vector<Lane> shown_;
  std::shared_ptr<const LaneReports> latest_;
  Clock::time_point read_at_ = Clock::now();
  Clock::time_point next_read_{};
  std::function<void()> asked_;
  bool failed_ = false;
  bool ended_ = false;
};

}  // namespace

Exit perform(const TopVerb& verb, Context& context) {
  if (context.json()) {
    throw ConfigError("`seriatim top` draws on a terminal; for JSON: seriatim status --json");
  }
  context.database_url();  // before the thread that watches signals
  const Signals signals(status_read_max);
  Top(verb, context).run(signals.token());
  return Exit::done;
}

}  // namespace seriatim::app
