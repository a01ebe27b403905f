#include "app/command_line.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "app/text.hpp"
#include "app/verb_examples.hpp"
#include "runtime/nearest.hpp"
#include "seriatim/options.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app {

namespace {

/// Builds the parser; each verb fills `command` when it was chosen.
class Parser {
 public:
  Parser() {
    app_.require_subcommand(1);
    auto formatter = app_.get_formatter();
    formatter->column_width(28);
    formatter->label("SUBCOMMAND", "VERB");
    formatter->label("REQUIRED", "");
    app_.footer(start_here + std::string(exit_codes));
    app_.set_version_flag("--version", std::string(version()), "Print this program's version");
    add_setup_verbs();
    add_run();
    add_reading_verbs();
    add_preview();
    add_why();
    add_audit();
    add_lane_act("retry", "Let a halted or retrying process try its row again at once", RetryVerb{},
                 "  seriatim retry booking_sms --reason 'number corrected'");
    add_skip();
    add_parked();
    add_rewind();
    add_lanes();
    add_prune();
    add_lane_act("pause", "Stop handing rows over, until resume", PauseVerb{},
                 "  seriatim pause booking_sms --reason 'provider maintenance until 06:00'\n"
                 "  seriatim pause booking_sms --lane 3");
    add_lane_act("resume", "Go on after pause", ResumeVerb{}, "  seriatim resume booking_sms");
    add_adopt();
    add_append();
    add_demo();
    add_lab("torture", "Try to make a staging server and relays lose, reorder or repeat a row");
    add_lab("bench", "Measure how fast this machine can be, and how near to that the relay comes");
    add_verb<VersionVerb>("version", "Print this program's version", "");
  }

  std::variant<Command, Answer> parse(int count, const char* const* arguments) {
    if (auto answer = unknown_verb(count, arguments)) return *answer;
    raw_.assign(arguments + 1, arguments + count);
    try {
      app_.parse(count, arguments);
      return command_;
    } catch (const CLI::CallForHelp&) {
      return Answer{app_.help(), Exit::done};
    } catch (const CLI::CallForVersion&) {
      return Answer{"seriatim " + std::string(version()) + '\n', Exit::done};
    } catch (const CLI::ParseError& error) {
      std::string verb;
      for (const auto* sub : app_.get_subcommands()) verb = ' ' + sub->get_name();
      return Answer{usage_error(verb, error.what()), Exit::usage};
    }
  }

 private:
  /// A verb whose values live as long as the parser and become the command when it is chosen.
  template <class V>
  std::pair<CLI::App*, std::shared_ptr<V>> add_verb(const std::string& name,
                                                    const std::string& description,
                                                    const std::string& examples, V values = {}) {
    return add_verb_to(app_, name, description, examples, std::move(values));
  }

  template <class V>
  std::pair<CLI::App*, std::shared_ptr<V>> add_verb_to(CLI::App& parent, const std::string& name,
                                                       const std::string& description,
                                                       const std::string& examples, V values) {
    auto* sub = parent.add_subcommand(name, description)->group("Verbs");
    auto verb = std::make_shared<V>(std::move(values));
    sub->add_option("--config", command_.common.config_file, "Configuration file")
        ->type_name("FILE");
    sub->add_flag("--json", command_.common.json, "One JSON object instead of text");
    sub->footer((examples.empty() ? "" : "Examples:\n" + examples + "\n\n") + exit_codes);
    sub->callback([this, verb] { command_.verb = *verb; });
    return {sub, verb};
  }

  static void add_processes(CLI::App* sub, std::vector<std::string>& processes) {
    sub->add_option("PROCESS", processes, "Processes of the configuration; all when none is named")
        ->type_name("");
  }

  static void add_process(CLI::App* sub, std::string& process) {
    sub->add_option("PROCESS", process, "A process of the configuration")
        ->required()
        ->type_name("");
  }

  void add_setup_verbs() {
    auto [init, init_verb] =
        add_verb<InitVerb>("init", "Install or upgrade schema seriatim in the database",
                           "  DATABASE_URL=postgresql://owner@db/shop seriatim init\n"
                           "  seriatim init --print > for-the-dba.sql");
    init->add_flag("--print", init_verb->print, "Only print the SQL; needs no database");
    const auto step = [verb = init_verb](const std::string& text) {
      if (text != "hourly" && text != "daily" && text != "monthly") {
        throw CLI::ValidationError("--partitioned", "must be one of hourly | daily | monthly");
      }
      verb->partitioned = text;
    };
    init->add_option_function<std::string>(
            "--partitioned", step, "Partition seriatim.outbox by time: hourly | daily | monthly")
        ->type_name("STEP");

    auto [check, check_verb] = add_verb<CheckVerb>(
        "check", "Is each process's table one on which no row can be lost? Says how to fix it",
        "  seriatim check\n  seriatim check booking_sms --json");
    add_processes(check, check_verb->processes);

    auto [plan, plan_verb] = add_verb<PlanVerb>(
        "plan", "What would this configuration do to the cursors? Changes nothing",
        "  seriatim plan --config new.toml\n  seriatim plan booking_sms --json");
    add_processes(plan, plan_verb->processes);
  }

  void add_run() {
    auto [run, verb] =
        add_verb<RunVerb>("run", "Deliver rows until SIGTERM or SIGINT", run_examples);
    add_processes(run, verb->processes);
    run->add_flag("--drain", verb->drain, "End once all that is committed has been delivered");
    add_duration(run, "--grace", verb->grace,
                 "Time for calls in flight after the first signal\n"
                 "(default: the longest handler_deadline + 5s)");
    add_choice(run, "--log-level", verb->log_level, {"debug", "info", "warn", "error"});
    add_choice(run, "--log-format", verb->log_format, {"text", "json"});
  }

  /// Written and read as in the configuration: "30s".
  static void add_duration(CLI::App* sub, const std::string& name,
                           std::optional<std::chrono::milliseconds>& value,
                           const std::string& description) {
    const auto read = [name, &value](const std::string& text) {
      auto table = std::make_shared<Options::Table>();
      table->values["duration"] = {text, ""};
      Problems problems;
      value = Options(table, problems).duration("duration", {});
      if (problems.empty()) return;
      throw CLI::ValidationError(name, "needs its unit, such as 500ms, 30s or 2m");
    };
    sub->add_option_function<std::string>(name, read, description)->type_name("DURATION");
  }

  /// `choices` in the order of the enumeration.
  template <class E>
  static void add_choice(CLI::App* sub, const std::string& name, std::optional<E>& value,
                         const std::vector<std::string>& choices) {
    std::string description;
    for (const auto& choice : choices) description += (description.empty() ? "" : " | ") + choice;
    const auto read = [name, choices, description, &value](const std::string& text) {
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (found == choices.end()) throw CLI::ValidationError(name, "must be one of " + description);
      value = static_cast<E>(found - choices.begin());
    };
    sub->add_option_function<std::string>(name, read, description)->type_name("WORD");
  }

  void add_reading_verbs() {
    auto [status, status_verb] = add_verb<StatusVerb>(
        "status", "Is it moving, if not at which row and why, what may I do?",
        "  seriatim status\n  seriatim status --watch\n  seriatim status --json | jq .lanes");
    add_processes(status, status_verb->processes);
    status->add_flag("--watch", status_verb->watch, "Again every second, until Ctrl-C");

    auto [health, health_verb] = add_verb<HealthVerb>(
        "health", "Ask the relay that runs with this configuration whether it is well",
        "  seriatim health\n  seriatim health --ready\n\n"
        "Asks /livez, or /readyz, of [console] listen. Exit 0 if it is well, else 1.");
    health->add_flag("--ready", health_verb->ready,
                     "Whether it holds its lanes or stands by, not only whether it lives");

    auto [top, top_verb] = add_verb<TopVerb>(
        "top", "Watch the lanes on a terminal, those in trouble first, with keys for more",
        "  seriatim top\n  seriatim top --act --who alice booking_sms");
    add_processes(top, top_verb->processes);
    top->add_flag("--act", top_verb->act, "Keys that retry, pause and resume; each asks first");
    top->add_option("--who", top_verb->who, "Under this name in the journal (user@host)")
        ->type_name("NAME");

    auto [peek, peek_verb] = add_verb<PeekVerb>("peek", "Show the rows that wait, in lane order",
                                                "  seriatim peek booking_sms --rows 3 --payload");
    add_process(peek, peek_verb->process);
    peek->add_option("--rows", peek_verb->rows, "At most so many (10)")
        ->check(CLI::Range(1, 10'000).description(""))
        ->type_name("N");
    peek->add_option("--lane", peek_verb->lane, "Of this lane (0)")->type_name("N");
    peek->add_flag("--payload", peek_verb->payload, "Payloads too: they may be confidential");
  }

  void add_preview() {
    auto [sub, verb] = add_verb<PreviewVerb>(
        "preview", "Show the requests of the rows that wait; send nothing", preview_examples);
    add_process(sub, verb->process);
    sub->add_option("--rows", verb->rows, "At most so many (10)")
        ->check(CLI::Range(1, 10'000).description(""))
        ->type_name("N");
    sub->add_option("--lane", verb->lane, "Of this lane (0)")->type_name("N");
  }

  void add_why() {
    auto [sub, verb] = add_verb<WhyVerb>(
        "why", "Where is this row, why is it not delivered, what may I do?", why_examples);
    add_process(sub, verb->process);
    sub->add_option("ID", verb->id, "The row's id")->required()->type_name("");
  }

  void add_audit() {
    auto [sub, verb] = add_verb<AuditVerb>(
        "audit", "Recount everything delivered against the table: the proof",
        "  seriatim audit booking_sms\n  seriatim audit booking_sms --buckets --json\n\n"
        "Exit 1 where a row was neither delivered nor set aside, or the ledger does not fit.");
    add_process(sub, verb->process);
    sub->add_flag("--buckets", verb->buckets, "Each bucket, not joined by the hour");
  }

  static void add_actor(CLI::App* sub, Act& act) {
    sub->add_option("--who", act.who, "Who acts, for the journal (default: user@host)")
        ->type_name("NAME");
  }

  /// For scripts: they act on what they have seen, or not at all.
  static void add_expect(CLI::App* sub, Act& act) {
    sub->add_option("--expect", act.expect,
                    "Change nothing unless it is so: row, state, attempts, epoch, lane;\n"
                    "count of parked rows; plan of a rewind, redrive or discard")
        ->type_name("KEY=VALUE");
  }

  template <class V>
  std::pair<CLI::App*, std::shared_ptr<V>> add_act(const std::string& name,
                                                   const std::string& description, V values,
                                                   const std::string& examples) {
    auto [sub, verb] = add_verb<V>(name, description, examples, std::move(values));
    add_process(sub, verb->act.process);
    sub->add_option("--reason", verb->act.reason, "Why, for the journal")->type_name("TEXT");
    add_actor(sub, verb->act);
    add_expect(sub, verb->act);
    return {sub, verb};
  }

  template <class V>
  void add_lane_act(const std::string& name, const std::string& description, V values,
                    const std::string& examples) {
    auto [sub, verb] = add_act(name, description, std::move(values), examples);
    sub->add_option("--lane", verb->lane, "Only this lane (default: each it applies to)")
        ->type_name("N");
  }

  void add_adopt() {
    auto [sub, verb] = add_act(
        "adopt", "Go on where the database, the table or a process's name was changed on purpose",
        AdoptVerb{}, adopt_examples);
    auto* from = sub->add_option("--from", verb->from,
                                 "The process's former name, whose cursor it takes over")
                     ->type_name("NAME");
    auto* changed = sub->add_flag("--source-changed", verb->source_changed,
                                  "`where` or `ignore` was changed; --old-rows decides");
    auto* old = sub->add_option("--old-rows", verb->old_rows,
                                "Rows behind the cursor that match now: skip or deliver them");
    old->type_name("skip|deliver")->check(CLI::IsMember({"skip", "deliver"}).description(""));
    old->needs(changed)->needs("--reason");
    changed->needs(old)->excludes(from);
  }

  void add_skip() {
    auto [sub, verb] = add_verb<SkipVerb>(
        "skip", "Set aside the one row a process is halted at, by its id",
        "  seriatim skip booking_sms 4711 --reason 'customer called, number void'\n"
        "  seriatim skip --reason 'test row' -- booking_sms -5      an id that begins with -");
    add_process(sub, verb->act.process);
    sub->add_option("ID", verb->id, "The row's id, as status names it")->required()->type_name("");
    sub->add_option("--reason", verb->act.reason, "Why, for the journal")
        ->required()
        ->type_name("TEXT");
    add_actor(sub, verb->act);
    add_expect(sub, verb->act);
  }

  void add_parked() {
    auto* parked = app_.add_subcommand(
        "parked", "Rows set aside by on_poison: list, redrive (hand over again) or discard them");
    parked->group("Verbs")->require_subcommand(1);
    parked->footer(
        "`seriatim parked VERB --help` says more.\n\nWith on_poison = \"park_key\" a row that "
        "failed and all later rows of its key are set\naside, in order, while other keys go on; "
        "with \"dead_letter\" that row alone.\n\n" +
        std::string(exit_codes));
    using What = ParkedVerb::What;
    auto [list, list_verb] = add_verb_to(
        *parked, "list", "Show parked rows, in the order they would go out in",
        "  seriatim parked list booking_sms\n  seriatim parked list booking_sms --key 4711 --json",
        ParkedVerb{.what = What::list});
    add_process(list, list_verb->act.process);
    list->add_option("--key", list_verb->key, "Of this key only")->type_name("KEY");
    list->add_option("--rows", list_verb->rows, "At most so many (100)")
        ->check(CLI::Range(1, 1'000'000).description(""))
        ->type_name("N");
    add_parked_act(*parked, "redrive", "Hand parked rows over again, before rows that wait",
                   "  seriatim parked redrive booking_sms 4711\n"
                   "  seriatim parked redrive booking_sms --key 17\n"
                   "  seriatim parked redrive booking_sms --all --reason 'provider fixed'\n\n"
                   "A row takes the rows that queue behind it along, in their order. Each gets the "
                   "next\nnumber of its lane and is marked as late. One that fails again stays "
                   "parked, and so do\nthe rows of its key.",
                   What::redrive);
    add_parked_act(*parked, "discard", "Set parked rows aside for good",
                   "  seriatim parked discard booking_sms 4711 --reason 'customer called'\n"
                   "  seriatim parked discard booking_sms --key 17 --reason 'account closed'\n\n"
                   "A row named by its id goes alone; those queued behind it stay, for redrive.",
                   What::discard);
  }

  void add_parked_act(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& examples, ParkedVerb::What what) {
    auto [sub, verb] = add_verb_to(parent, name, description, examples, ParkedVerb{.what = what});
    add_process(sub, verb->act.process);
    auto* which = sub->add_option_group("WHICH", "Which parked rows: one of");
    which->add_option("ID", verb->id, "A parked row")->type_name("");
    which->add_option("--key", verb->key, "All of this key")->type_name("KEY");
    which->add_flag("--all", verb->all, "All of the process");
    which->require_option(1);
    sub->add_flag("--dry-run", verb->dry_run, "Only count");
    auto* reason = sub->add_option("--reason", verb->act.reason, "Why, for the journal");
    reason->type_name("TEXT")->required(what == ParkedVerb::What::discard);
    add_actor(sub, verb->act);
    add_expect(sub, verb->act);
  }

  void add_rewind() {
    auto [sub, verb] = add_verb<RewindVerb>(
        "rewind", "Move a process's cursor: deliver rows again, or set rows aside unseen",
        rewind_examples);
    add_process(sub, verb->act.process);
    sub->add_option("--to", verb->to, "Where to go on: start, end, a row's id, or a time")
        ->required()
        ->type_name("PLACE");
    auto* yes =
        sub->add_flag("--yes", verb->yes, "Do it; without it only what would happen is shown");
    yes->needs(sub->add_option("--reason", verb->act.reason, "Why, for the journal; --yes needs it")
                   ->type_name("TEXT"));
    add_actor(sub, verb->act);
    add_expect(sub, verb->act);
  }

  void add_lanes() {
    auto [sub, verb] = add_verb<LanesVerb>(
        "lanes", "Cut a process into another number of lanes, each key's order kept",
        lanes_examples);
    add_process(sub, verb->act.process);
    sub->add_option("N", verb->lanes, "How many")
        ->required()
        ->type_name("")
        ->check(CLI::Range(1, 1'024).description(""));
    sub->add_option("--reason", verb->act.reason, "Why, for the journal")->type_name("TEXT");
    add_actor(sub, verb->act);
  }

  void add_prune() {
    auto [sub, verb] = add_verb<PruneVerb>(
        "prune", "Delete rows that every process has behind it, in small batches", prune_examples);
    auto* process = sub->add_option("PROCESS", verb->act.process, "The table this process reads")
                        ->type_name("");
    sub->add_option("--table", verb->table, "… or this one (default: every one that is read)")
        ->type_name("TABLE")
        ->excludes(process);
    add_duration(sub, "--older-than", verb->older_than, "Rows created longer ago (7d)");
    sub->add_option("--batch", verb->batch, "Rows deleted at once, at most (1000)")
        ->check(CLI::Range(1, 10'000).description(""))
        ->type_name("N");
    sub->add_flag("--filtered", verb->filtered,
                  "Rows too that no process delivers (`where`, `ignore`)");
    sub->add_flag("--detach", verb->detach, "Keep whole partitions as tables of their own");
    sub->add_flag("--dry-run", verb->dry_run, "Only count");
    sub->add_option("--reason", verb->act.reason, "Why, for the journal")->type_name("TEXT");
    add_actor(sub, verb->act);
  }

  void add_append() {
    auto [sub, verb] = add_verb<AppendVerb>(
        "append", "Write one row into seriatim.outbox and print its id",
        "  seriatim append --type booked --aggregate-type booking --aggregate-id 7 \\\n"
        "      --payload '{\"phone\":\"+4512345678\"}'\n"
        "  generate | seriatim append --type booked --aggregate-type booking --aggregate-id 7");
    const auto add = [sub = sub](const char* name, std::string& value, const char* description) {
      sub->add_option(name, value, description)->required()->type_name("TEXT");
    };
    add("--type", verb->type, "Event type");
    add("--aggregate-type", verb->aggregate_type, "What kind of thing the event is about");
    add("--aggregate-id", verb->aggregate_id, "Which one");
    sub->add_option("--payload", verb->payload, "JSON (default: read from stdin)")
        ->type_name("JSON");
    sub->add_option("--headers", verb->headers, "JSON object of headers")->type_name("JSON");
  }

  void add_demo() {
    auto [sub, verb] = add_verb<DemoVerb>(
        "demo", "Show the main job on real parts: PostgreSQL, bookings, an SMS provider",
        "  seriatim demo\n  seriatim demo --seconds 60 --keep");
    sub->add_option("--seconds", verb->seconds, "How long bookings are written (30)")
        ->check(CLI::Range(1, 3'600).description(""))
        ->type_name("N");
    for (const auto* common : {"--config", "--json"}) sub->remove_option(sub->get_option(common));
    sub->add_flag("--keep", verb->keep,
                  "Go on after the verdict until Ctrl-C, for you to try the console; then leave "
                  "database, configuration and logs");
  }

  /// Whatever follows is read by seriatim-lab, --help too.
  void add_lab(const std::string& name, const std::string& description) {
    auto* sub = app_.add_subcommand(name, description)->group("Verbs")->prefix_command();
    sub->set_help_flag();
    sub->callback([this] { command_.verb = LabVerb{raw_}; });
  }

  std::vector<std::string> verbs() const {
    std::vector<std::string> names;
    for (const auto* sub : app_.get_subcommands({})) names.push_back(sub->get_name());
    return names;
  }

  std::optional<Answer> unknown_verb(int count, const char* const* arguments) const {
    if (count < 2) return Answer{app_.help(), Exit::usage};
    const std::string word = arguments[1];
    const auto known = verbs();
    if (word.rfind('-', 0) == 0 || std::count(known.begin(), known.end(), word) > 0) return {};
    const auto meant = runtime::nearest(word, known);
    return Answer{"seriatim: no verb \"" + printable(word, 63) + "\"; " +
                      (meant ? "did you mean \"" + *meant + "\"?" : "see: seriatim --help") + '\n',
                  Exit::usage};
  }

  CLI::App app_{about, "seriatim"};
  std::vector<std::string> raw_;
  Command command_;
};

}  // namespace

std::variant<Command, Answer> parse_command_line(int count, const char* const* arguments) {
  return Parser().parse(count, arguments);
}

}  // namespace seriatim::app
