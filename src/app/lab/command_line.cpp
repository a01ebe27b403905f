#include <CLI/CLI.hpp>

#include <algorithm>

#include "app/lab/verbs.hpp"
#include "app/text.hpp"
#include "app/verb_examples.hpp"
#include "lab/bench/bench.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app::lab_program {

namespace {

constexpr const char* torture_examples =
    "  seriatim torture --database embedded --minutes 2 --all-faults\n"
    "  seriatim torture --database postgresql://app@staging/shop --minutes 10 --kill --freeze\n"
    "  seriatim torture --database embedded --all-faults --in-flight 32 --hold-key\n"
    "  seriatim torture --database embedded --promote --kill\n"
    "  seriatim torture --database \"$URL\" --restart-server \\\n"
    "      --restart-command 'ssh staging pg_ctlcluster 15 main restart -m immediate'\n\n"
    "Works in a schema of its own, seriatim_torture_SEED, and takes it away again unless a "
    "row\n"
    "was lost, reordered or repeated (exit 1) or --keep is given. Never point it at "
    "production.";

constexpr const char* bench_examples =
    "  seriatim bench null\n"
    "  seriatim bench null --rows 1000000 --order id --json\n"
    "  seriatim bench http --database postgresql://postgres@staging/postgres\n\n"
    "null: a handler that does nothing; http: a local receiver; kafka: librdkafka's mock of a\n"
    "cluster; sql: a read model; latency: commit to call; idle: what lanes at rest cost.\n"
    "Each is taken in turns with its limit, the barest loop that does the same without any\n"
    "promise. Works in a database of its own, which it removes, on a private server or on\n"
    "--database; measure on a quiet machine.";

/// Builds the parser; the verb that is chosen fills `command_`.
class Parser {
 public:
  Parser() {
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(28);
    app_.get_formatter()->label("REQUIRED", "");
    app_.set_version_flag("--version", std::string(version()), "Print this program's version");
    add_torture();
    add_bench();
    add_verb<BenchRelayVerb>("bench-relay", "", "").first->group("");
  }

  std::variant<Command, Answer> parse(int count, const char* const* arguments) {
    if (count < 2) return Answer{app_.help(), Exit::usage};
    try {
      app_.parse(count, arguments);
      return command_;
    } catch (const CLI::CallForHelp&) {
      return Answer{app_.help(), Exit::done};
    } catch (const CLI::ParseError& error) {
      std::string verb;
      for (const auto* sub : app_.get_subcommands()) verb = ' ' + sub->get_name();
      return Answer{usage_error(verb, error.what()), Exit::usage};
    }
  }

 private:
  template <class V>
  std::pair<CLI::App*, std::shared_ptr<V>> add_verb(const std::string& name,
                                                    const std::string& description,
                                                    const std::string& examples) {
    auto* sub = app_.add_subcommand(name, description)->group("Verbs");
    auto verb = std::make_shared<V>();
    sub->add_option("--config", command_.common.config_file, "Configuration file")
        ->type_name("FILE");
    sub->add_flag("--json", command_.common.json, "One JSON object instead of text");
    sub->footer("Examples:\n" + examples + "\n\n" + exit_codes);
    sub->callback([this, verb] { command_.verb = *verb; });
    return {sub, verb};
  }

  void add_torture() {
    auto [sub, verb] = add_verb<TortureVerb>(
        "torture", "Try to make a staging server and relays lose, reorder or repeat a row",
        torture_examples);
    sub->add_option("--database", verb->database,
                    "URL, or \"embedded\" for a private server\n"
                    "(default: the configuration's, else DATABASE_URL)")
        ->type_name("URL");
    const auto number = [sub = sub](const char* name, unsigned& value, unsigned max,
                                    const std::string& description) {
      sub->add_option(name, value, description + " (" + std::to_string(value) + ')')
          ->check(CLI::Range(1U, max).description(""))
          ->type_name("N");
    };
    sub->add_option("--minutes", verb->minutes, "How long producers and faults go on (1)")
        ->check(CLI::Range(0.05, 1'440.0).description(""))
        ->type_name("N");
    sub->add_option("--seed", verb->seed, "What all is drawn from (default: another each time)")
        ->check(CLI::Range(0.0, 1e18).description(""))
        ->type_name("N");
    number("--producers", verb->producers, 64, "Concurrent writers");
    number("--relays", verb->relays, 16, "Relay programs");
    number("--lanes", verb->lanes, 16, "Lanes of each process");
    number("--in-flight", verb->in_flight, 256,
           "Calls at once in a lane; then order by key is judged");
    sub->add_flag("--hold-key", verb->hold_key,
                  "Hold the keys of rows that fail for now; some keys are\n"
                  "refused for a while, and order by key is judged");
    add_word(sub, "--order", verb->order, {"both", "created_at", "id"});
    add_fault_flags(sub, *verb);
    sub->add_flag("--keep", verb->keep, "Leave the schema and logs, also of a clean run");
    sub->add_option("--relay-program", verb->relay_program)
        ->envname("SERIATIM_TORTURE_PROGRAM")
        ->group("");
  }

  static void add_fault_flags(CLI::App* sub, TortureVerb& verb) {
    sub->add_flag("--kill", verb.kill, "kill -9 of relays");
    sub->add_flag("--freeze", verb.freeze, "SIGSTOP of relays until they are replaced, SIGCONT");
    sub->add_flag("--terminate-backends", verb.terminate_backends,
                  "pg_terminate_backend of relays and producers");
    sub->add_flag("--restart-server", verb.restart_server,
                  "Crash and restart of the server: embedded, or by --restart-command");
    sub->add_option("--restart-command", verb.restart_command,
                    "Shell command that crashes the server and starts it again")
        ->type_name("COMMAND");
    sub->add_flag("--promote", verb.promote,
                  "Loss of the server: its synchronous standby takes over (embedded)");
    sub->add_flag("--net", verb.net,
                  "Bad networks: latency, loss, resets, black holes, half-open\n"
                  "connections, lost COMMIT answers, before database and receiver");
    sub->add_flag("--all-faults", verb.all_faults, "All of these that are possible");
  }

  void add_bench() {
    auto [sub, verb] = add_verb<BenchVerb>(
        "bench", "Measure how fast this machine can be, and how near to that the relay comes",
        bench_examples);
    std::string names;
    for (const auto& name : bench::names()) names += (names.empty() ? "" : " | ") + name;
    sub->add_option("NAME", verb->name, names)
        ->required()
        ->check(CLI::IsMember(bench::names()).description(""))
        ->type_name("");
    const auto number = [sub = sub](const char* name, auto& value, double least, double most,
                                    const std::string& description) {
      sub->add_option(name, value, description)
          ->check(CLI::Range(least, most).description(""))
          ->type_name("N");
    };
    sub->add_option("--database", verb->database,
                    "URL of a server where this role may make a database\n"
                    "(default: a private server)")
        ->type_name("URL");
    number("--rows", verb->rows, 10, 1e9, "Rows of a repeat (default: by bench)");
    number("--repeats", verb->repeats, 1, 1'000, "Repeats, median shown (5)");
    number("--batch", verb->batch, 1, 100'000,
           "batch_rows and commit_every of null and sql (1000)");
    number("--seconds", verb->seconds, 1, 3'600,
           "latency: of a figure, and as long for each of its limits (1);\n"
           "idle: twice as long for a figure (5)");
    add_word(sub, "--order", verb->order, {"both", "created_at", "id"});
    add_word(sub, "--read-ahead", verb->read_ahead, {"on", "off"});
    number("--waiting", verb->waiting, 0, 1e9, "null: further rows that wait (0)");
    number("--delivered", verb->delivered, 0, 1e9, "null: rows delivered before (0)");
    number("--partitions", verb->partitions, 1, 1'000, "Partitions of the table (1)");
    number("--connections", verb->connections, 0, 10'000, "Further idle connections (0)");
    number("--max-connections", verb->max_connections, 0, 20'000,
           "max_connections of a private server, at least\n(default: as many as are needed)");
  }

  static void add_word(CLI::App* sub, const std::string& name, std::string& value,
                       const std::vector<std::string>& choices) {
    std::string description;
    for (const auto& choice : choices) description += (description.empty() ? "" : " | ") + choice;
    const auto check = [choices, description](const std::string& text) {
      const bool known = std::count(choices.begin(), choices.end(), text) > 0;
      return known ? std::string() : "must be one of " + description;
    };
    sub->add_option(name, value, description + " (" + value + ')')
        ->check(CLI::Validator(check, ""))
        ->type_name("WORD");
  }

  CLI::App app_{"Tries and measures seriatim; start it as `seriatim torture` or `seriatim bench`.",
                "seriatim"};
  Command command_;
};

}  // namespace

std::variant<Command, Answer> parse_command_line(int count, const char* const* arguments) {
  return Parser().parse(count, arguments);
}

}  // namespace seriatim::app::lab_program
