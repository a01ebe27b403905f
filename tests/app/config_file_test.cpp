#include "app/config_file.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "app/config_texts.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::app;
using std::chrono::milliseconds;

TEST_CASE("the smallest process reads seriatim.outbox with every default") {
  const auto config = read(process_with(""));
  REQUIRE(config.processes.size() == 1);
  const auto& [process, source] = config.processes[0].target;
  CHECK(config.database_url == "postgresql://relay:canary-url@db/shop");
  CHECK(process.name == "a");
  CHECK(process.commit_every == 1);
  CHECK(process.lease == milliseconds{10'000});
  CHECK(source.table == "seriatim.outbox");
  CHECK(source.guard == Guard::fence);
  CHECK(config.processes[0].handler_kind == "sms");
  CHECK(config.processes[0].handler);
}

TEST_CASE("alerts go to one place, and each threshold can be turned off") {
  CHECK_FALSE(read(process_with("")).alerts);
  const auto plain = *read("[alerts]\nurl = \"https://pager\"\n" + process_with("")).alerts;
  CHECK(plain.target->url == "https://pager");
  CHECK(plain.thresholds.lag == std::chrono::minutes(5));
  CHECK(plain.thresholds.parked == 1);
  CHECK(plain.repeat == std::chrono::hours(4));
  const auto alerts =
      *read(
           "[alerts]\ncommand = [\"page\", \"me\"]\nlag = \"off\"\nunheld = \"off\"\n"
           "fence = \"2s\"\nparked = \"off\"\naudit = \"off\"\nslot = \"off\"\n"
           "database = \"off\"\n" +
           process_with(""))
           .alerts;
  CHECK(alerts.command == std::vector<std::string>{"page", "me"});
  CHECK_FALSE(alerts.thresholds.lag);
  CHECK_FALSE(alerts.thresholds.unheld);
  CHECK_FALSE(alerts.thresholds.parked);
  CHECK_FALSE(alerts.thresholds.audit);
  CHECK_FALSE(alerts.thresholds.slot);
  CHECK_FALSE(alerts.thresholds.database);
  CHECK(alerts.thresholds.fence == milliseconds{2'000});
  const auto wrong = problems_of(
      "[alerts]\nurl = \"https://pager\"\nsecret = \"short\"\nparked = 0\n"
      "every = \"10ms\"\nlog = \"5m\"\n" +
      process_with(""));
  CHECK(wrong.find("secret") != std::string::npos);
  CHECK(wrong.find("parked: must be a whole number") != std::string::npos);
  CHECK(wrong.find("every: must be 1 s or more") != std::string::npos);
  CHECK(wrong.find("log") != std::string::npos);
  CHECK(problems_of("[alerts]\n" + process_with("")).find("give either `url` or `command`") !=
        std::string::npos);
}

TEST_CASE("a handler whose options ask for batches commits by the batch") {
  HandlerRegistry registry;
  HandlerKind kind{"either", "", [](Options& options) {
                     options.text("mode");
                     return handler_from([](const Record&) { return Outcome::done(); });
                   }};
  kind.takes_batches_if = [](Options& options) { return options.text("mode") == "batch"; };
  registry.add(std::move(kind));
  const auto commit_every = [&](const std::string& process, const std::string& handler) {
    Secrets secrets;
    const auto text = "[[process]]\nname = \"a\"\n" + process +
                      "[process.handler]\nkind = \"either\"\n" + handler;
    const auto config = read_config(text, "s.toml", {registry, variables, secrets});
    return config.processes.at(0).target.process.commit_every;
  };
  CHECK(commit_every("", "") == 1);
  CHECK(commit_every("batch_rows = 70\n", "mode = \"batch\"\n") == 70);
  CHECK(commit_every("commit_every = 7\n", "mode = \"batch\"\n") == 7);
}

TEST_CASE("every key reaches its member") {
  const auto config = read(R"toml(
[database]
url = "postgresql://other/${EMPTY:-shop}"
[log]
level = "debug"
format = "json"
[[process]]
name = "booking_sms"
lanes = 4
on_poison = "halt"
on_unknown = "halt"
max_attempts = 7
max_crashes = 2
backoff = { first = "1s", max = "2m", retry_after_max = "10m" }
batch_rows = 50
commit_every = 10
handler_deadline = "5s"
max_hold = "500ms"
poll_interval_min = "2ms"
poll_interval_max = "1s"
lease = "6s"
standby_interval = "100ms"
[process.source]
table = "public.bookings"
order_by = "id"
id = "booking_id"
created_at = "booked_at"
key = "customer_id"
event_type = "t.kind"
payload = "to_jsonb(t)"
headers = "meta"
where = "t.status = 'booked'"
delivered_at_column = "dispatched_at"
insert_latency = "20ms"
payload_max = "1MiB"
batch_bytes = "2MiB"
listen = false
[process.handler]
kind = "sms"
to = "$${literal} ${SMS_TOKEN}"
)toml");
  CHECK(config.database_url == "postgresql://other/shop");
  CHECK(config.log.level == LogLevel::debug);
  CHECK(config.log.format == LogFormat::json);
  const auto& p = config.processes.at(0).target.process;
  CHECK(p.name == "booking_sms");
  CHECK(p.lanes == 4);
  CHECK(p.on_unknown == OnUnknown::halt);
  CHECK(p.max_attempts == 7);
  CHECK(p.max_crashes == 2);
  CHECK(p.backoff.first == milliseconds{1'000});
  CHECK(p.backoff.max == milliseconds{120'000});
  CHECK(p.backoff.retry_after_max == milliseconds{600'000});
  CHECK(p.batch_rows == 50);
  CHECK(p.commit_every == 10);
  CHECK(p.handler_deadline == milliseconds{5'000});
  CHECK(p.max_hold == milliseconds{500});
  CHECK(p.poll_interval_min == milliseconds{2});
  CHECK(p.poll_interval_max == milliseconds{1'000});
  CHECK(p.lease == milliseconds{6'000});
  CHECK(p.standby_interval == milliseconds{100});
  const auto& s = config.processes.at(0).target.source;
  CHECK(s.table == "public.bookings");
  CHECK(s.order_by == OrderBy::id);
  CHECK(s.id == "booking_id");
  CHECK(s.created_at == "booked_at");
  CHECK(s.key == "customer_id");
  CHECK(s.event_type == "t.kind");
  CHECK(s.payload == "to_jsonb(t)");
  CHECK(s.headers == "meta");
  CHECK(s.where == "t.status = 'booked'");
  CHECK(s.delivered_at_column == "dispatched_at");
  CHECK(s.insert_latency == milliseconds{20});
  CHECK(s.payload_max == 1U << 20U);
  CHECK(s.batch_bytes == 2U << 20U);
  CHECK_FALSE(s.listen);
}

TEST_CASE("the Debezium preset names its columns, and each may be named otherwise") {
  const auto preset = read(process_with("", "preset = \"debezium\"")).processes.at(0).target.source;
  CHECK(preset.table == "public.outboxevent");
  CHECK(preset.id == "id");
  CHECK(preset.key == "aggregateid");
  CHECK(preset.event_type == "type");
  CHECK(preset.payload == "payload");
  const auto other = read(process_with("", "preset = \"debezium\"\nkey = \"tenant\""));
  CHECK(other.processes.at(0).target.source.key == "tenant");
}

TEST_CASE("a key's former name is still understood, and remembered for check") {
  const auto old = read(process_with("", "mark = \"sent\"")).processes.at(0);
  CHECK(old.target.source.delivered_at_column == "sent");
  CHECK(old.former_keys == app::FormerKeys{{"source.mark", "source.delivered_at_column"}});
  CHECK(
      read(process_with("", "delivered_at_column = \"sent\"")).processes.at(0).former_keys.empty());
  CHECK(problems_of(process_with("", "mark = \"a\"\ndelivered_at_column = \"b\""))
            .find("mark: is the former name of delivered_at_column: keep one") !=
        std::string::npos);
}

TEST_CASE("late rows are delivered where that is asked for, within a lookback") {
  const auto plain = read(process_with("", "")).processes.at(0).target.source;
  CHECK(plain.late_rows == OnLateRow::halt);
  CHECK(plain.audit_window == std::chrono::hours(24));
  const auto config =
      read(process_with("", "late_rows = \"deliver\"\nlookback = \"2m\"\naudit_window = \"1h\""));
  const auto& source = config.processes.at(0).target.source;
  CHECK(source.late_rows == OnLateRow::deliver);
  CHECK(source.lookback == std::chrono::minutes(2));
  CHECK(source.audit_window == std::chrono::hours(1));
}

TEST_CASE("a guard of bare latency is a choice of its own") {
  const auto config = read(process_with("", "guard = \"latency\""));
  CHECK(config.processes.at(0).target.source.guard == Guard::latency);
}

TEST_CASE("each problem is reported with file, line and key, and what to do") {
  struct Case {
    std::string text;
    std::string problem;  // "…" at the end: begins so
  };
  const std::string handler = "[process.handler]\nkind = \"sms\"\nto = \"x\"\n";
  const std::vector<Case> cases{
      {"[database]\nurll = \"x\"", "s.toml:2: database.urll: unknown key; did you mean \"url\"?"},
      {"[databse]\nurl = \"x\"", "s.toml:1: databse: unknown key; did you mean \"database\"?"},
      {"[database]\nurl = 5", "s.toml:2: database.url: must be text in quotes"},
      {"[database]\nurl = \"${NOWHERE}\"",
       "s.toml:2: database.url: variable NOWHERE is not set; set it or write "
       "\"${NOWHERE:-default}\""},
      {"[database]\nurl = \"${NOWHERE\"",
       "s.toml:2: database.url: \"${\" is not closed; write \"$${\" for itself"},
      {"[database]\nurl = \"${1x}\"",
       "s.toml:2: database.url: \"${1x}\" is no variable name; write \"$$\" for a dollar"},
      {"[console]\nlisten = \"8642\"",
       "s.toml:2: console.listen: \"8642\" is no place to listen on; give an address and a port, "
       "such as \"127.0.0.1:8642\" or \"[::1]:8642\", or a socket: "
       "\"unix:/run/seriatim/console.sock\""},
      {"[console]\nlisten = \"::1:8642\"",
       "s.toml:2: console.listen: \"::1:8642\" is no place to listen on; give an address and a "
       "port, such as \"127.0.0.1:8642\" or \"[::1]:8642\", or a socket: "
       "\"unix:/run/seriatim/console.sock\""},
      {"[console]\nlisten = \"0.0.0.0:8642\"",
       "s.toml:2: console.listen: an address that others can reach needs `token`, a "
       "[[console.user]] with one or [console.proxy]; and `tls_certificate` and `tls_key`, unless "
       "there is a proxy, or `plain = true` says that the network between is trusted. For probes "
       "and /metrics alone, give that address to `probes`"},
      {"[console]\nlisten = \"0.0.0.0:8642\"\ntoken = \"canary-token-canary-token\"",
       "s.toml:2: console.listen: an address that others can reach needs `token`, a "
       "[[console.user]] with one or [console.proxy]; and `tls_certificate` and `tls_key`, unless "
       "there is a proxy, or `plain = true` says that the network between is trusted. For probes "
       "and /metrics alone, give that address to `probes`"},
      {"[console]\nlisten = \"unix:console.sock\"",
       "s.toml:2: console.listen: \"unix:console.sock\" is no place to listen on; give an address "
       "and a port, such as \"127.0.0.1:8642\" or \"[::1]:8642\", or a socket: "
       "\"unix:/run/seriatim/console.sock\""},
      {"[console]\n[[console.user]]\nname = \"alice\"",
       "s.toml:2: console.user.token: is missing; only [console.proxy] or a unix socket know a "
       "user "
       "without one"},
      {"[console]\n[[console.user]]\ntoken = \"alice-token-alice-token\"",
       "s.toml:2: console.user.name: is missing"},
      {"[console]\n[[console.user]]\nname = \"a\"\nrole = \"boss\"\n"
       "token = \"alice-token-alice-token\"",
       "s.toml:4: console.user.role: must be one of \"viewer\", \"operator\""},
      {"[console]\n[[console.user]]\nname = \"a\"\ntoken = \"short\"",
       "s.toml:4: console.user.token: must have at least 20 characters; `openssl rand -hex 20` "
       "makes one"},
      {"[console]\ntoken = \"alice-token-alice-token\"\n[[console.user]]\nname = \"a\"\n"
       "token = \"alice-token-alice-token\"",
       "s.toml:5: console.user.token: is also that of operator; tokens identify users"},
      {"[console]\ntoken = \"alice-token-alice-token\"\n[[console.user]]\nname = "
       "\"operator\"\ntoken = \"other-token-other-token\"",
       "s.toml:4: console.user.name: \"operator\" is taken by a user above (`token` is that of the "
       "user \"operator\")"},
      {"[console]\n[console.proxy]\nsecret = \"proxy-secret-proxy-secret\"",
       "s.toml:2: console.proxy.from: is missing; name the proxy's addresses, such as "
       "[\"10.0.0.5/32\"]"},
      {"[console]\n[console.proxy]\nfrom = [\"10.0.0.5\"]\nsecret = \"proxy-secret-proxy-secret\"",
       "s.toml:3: console.proxy.from: \"10.0.0.5\" is no network; write \"10.0.0.5/32\""},
      {"[console]\n[console.proxy]\nfrom = [\"10.0.0.5/32\"]",
       "s.toml:2: console.proxy.secret: is missing; the proxy sends it as the header "
       "Seriatim-Proxy"},
      {"[console]\ntls_key = \"key.pem\"",
       "s.toml:2: console.tls_key: needs `tls_certificate` too"},
      {"[console]\npayload = \"masked\"",
       "s.toml:2: console.payload: needs `token`, a [[console.user]] or [console.proxy]: without "
       "them everyone on this machine would see it"},
      {"[console]\nshow = [\"payload.type\"]",
       "s.toml:2: console.show: needs payload = \"masked\"; payloads are hidden"},
      {"[console]\ntoken = \"short\"",
       "s.toml:2: console.token: must have at least 20 characters; `openssl rand -hex 20` makes "
       "one"},
      {"[log]\nformat = \"xml\"", "s.toml:2: log.format: must be one of \"text\", \"json\""},
      {"[log]\nlevel = 2020-01-01",
       "s.toml:2: log.level: dates and times are not used here; put it in quotes"},
      {"process = 5", "s.toml:1: process: must be an array of tables, written [[process]]"},
      {"[[process]]\n" + handler, "s.toml:1: process.name: is missing"},
      {"[[process]]\nname = \"a\"\n", "s.toml:1: process.handler.kind: is missing"},
      {"[[process]]\nname = \"a\"\n[process.handler]\nkind = \"smss\"",
       "s.toml:4: process.handler.kind: no handler \"smss\"; did you mean \"sms\"?"},
      {"[[process]]\nname = \"a\"\n[process.handler]\nkind = \"fax-machine\"",
       "s.toml:4: process.handler.kind: no handler \"fax-machine\"; there are \"sms\""},
      {"[[process]]\nname = \"a\"\n[process.handler]\nkind = \"nats\"",
       "s.toml:4: process.handler.kind: handler \"nats\" was left out of this program: it needs "
       "libnats-dev; install that and build again (./run build does both)"},
      {"[[process]]\nname = \"a\"\n" + handler + "[[process]]\nname = \"a\"\n" + handler,
       "s.toml:7: process.name: \"a\" is taken by a process above; names keep cursors apart"},
      {process_with("lanes = 0"), "s.toml:3: process.lanes: must be a whole number from 1 to 1024"},
      {process_with("lanes = 1.5"),
       "s.toml:3: process.lanes: must be a whole number from 1 to 1024"},
      {process_with("lanes = 2"),
       "s.toml:3: process.lanes: more than one lane needs source.key, which assigns rows to lanes"},
      {process_with("on_poison = \"skip\""),
       "s.toml:3: process.on_poison: must be one of \"halt\", \"park_key\", \"dead_letter\""},
      {process_with("on_retry = \"hold_key\""),
       "s.toml:3: process.on_retry: \"hold_key\" needs on_poison = \"park_key\": a row that turns "
       "out "
       "to be poison while its key is held must not halt the lane for the other keys"},
      {process_with("rate_limit = \"10\""),
       "s.toml:3: process.rate_limit: must be rows and a time, such as \"10/s\", \"600/min\" or "
       "\"100/h\", with 1 to 1000000 rows"},
      {process_with("rate_limit = \"0/s\""),
       "s.toml:3: process.rate_limit: must be rows and a time, such as \"10/s\", \"600/min\" or "
       "\"100/h\", with 1 to 1000000 rows"},
      {process_with("rate_limit = \"10/day\""),
       "s.toml:3: process.rate_limit: must be rows and a time, such as \"10/s\", \"600/min\" or "
       "\"100/h\", with 1 to 1000000 rows"},
      {process_with("key_rate_limit = \"10/min\""),
       "s.toml:3: process.key_rate_limit: needs source.key, which says whose rows are counted"},
      {process_with("batch_rows = 10\ncommit_every = 11"),
       "s.toml:4: process.commit_every: must not exceed batch_rows (10)"},
      {process_with("poll_interval_min = \"1s\""),
       "s.toml:3: process.poll_interval_min: must not exceed poll_interval_max (200 ms)"},
      {process_with("lease = \"10ms\""), "s.toml:3: process.lease: must be between 1 s and 1 h"},
      {process_with("lease = \"1s\"\nstandby_interval = \"2s\""),
       "s.toml:4: process.standby_interval: must not exceed lease (1 s)"},
      {process_with("lease = 10"), "s.toml:3: process.lease: must be a duration with its unit, …"},
      {process_with("backoff = { first = \"2m\" }"),
       "s.toml:3: process.backoff.first: must not exceed max"},
      {process_with("backof = { first = \"2m\" }"),
       "s.toml:3: process.backof: unknown key; did you mean \"backoff\"?"},
      {process_with("", "tabel = \"x\""),
       "s.toml:5: process.source.tabel: unknown key; did you mean \"table\"?"},
      {process_with("", "table = \"\""), "s.toml:5: process.source.table: must not be empty"},
      {process_with("", "order_by = \"time\""),
       "s.toml:5: process.source.order_by: must be one of \"created_at\", \"id\""},
      {process_with("", "order_by = \"id\"\nlate_rows = \"deliver\""),
       "s.toml:6: process.source.late_rows: \"deliver\" goes by created_at…"},
      {process_with("", "lookback = \"1m\""),
       "s.toml:5: process.source.lookback: is for late_rows = \"deliver\"…"},
      {process_with("", "order_by = \"id\"\nguard = \"latency\""),
       "s.toml:6: process.source.guard: \"latency\" measures created_at, so it needs order_by = …"},
      {process_with("", "payload_max = \"2GiB\""),
       "s.toml:5: process.source.payload_max: must be between 1 and 1.0 GiB"},
      {process_with("", "payload_max = 0"),
       "s.toml:5: process.source.payload_max: must be between 1 and 1.0 GiB"},
      {process_with("", "listen = \"yes\""),
       "s.toml:5: process.source.listen: must be true or false"},
      {process_with("", "", "timeot = \"1s\""),
       "s.toml:9: process.handler.timeot: unknown key; did you mean \"timeout\"?"},
      {process_with("", "", "timeout = \"1 second\""),
       "s.toml:9: process.handler.timeout: must be a duration …"},
  };
  for (const auto& [text, problem] : cases) {
    const auto& shown = text;
    CAPTURE(shown);
    const auto reported = problems_of(text);
    const auto cut = problem.find("…");
    CHECK(reported.substr(0, cut) == problem.substr(0, cut));
    CHECK(reported.find('\n') == std::string::npos);
  }
}

TEST_CASE("a name of 64 bytes, an empty one and one with control characters are refused") {
  const auto named = [](const std::string& name) {
    return problems_of("[[process]]\nname = \"" + name +
                       "\"\n[process.handler]\nkind = \"sms\"\nto = \"x\"\n");
  };
  CHECK(named(std::string(63, 'n')) == "none");
  CHECK(named(std::string(64, 'n')) == "s.toml:2: process.name: has 64 bytes; at most 63 fit");
  CHECK(named("") == "s.toml:2: process.name: must not be empty");
  CHECK(named("a\\u001b[2J") ==
        "s.toml:2: process.name: holds control characters; use letters, digits and \"_\"");
}

TEST_CASE("all problems of a file are reported together, by line") {
  CHECK(problems_of(R"([database]
url = "${NOWHERE}"
[[process]]
name = "a"
lanes = "two"
[process.handler]
kind = "sms"
too = "x"
[[process]]
name = "b"
on_unknown = "panic"
[process.handler]
kind = "pigeon"
)") == R"(s.toml:2: database.url: variable NOWHERE is not set; set it or write "${NOWHERE:-default}"
s.toml:5: process.lanes: must be a whole number from 1 to 1024
s.toml:6: process.handler.to: is missing
s.toml:8: process.handler.too: unknown key; did you mean "to"?
s.toml:11: process.on_unknown: must be one of "retry", "halt"
s.toml:13: process.handler.kind: no handler "pigeon"; there are "sms")");
}

TEST_CASE("a syntax error is reported with line and column") {
  CHECK(problems_of("[database]\nurl = \"x\n").rfind("s.toml:2:", 0) == 0);
  CHECK(problems_of("[database]\nurl = 1\nurl = 2\n").rfind("s.toml:3:", 0) == 0);
}

TEST_CASE("a missing url without DATABASE_URL is a problem") {
  const auto registry = handlers_for_test();
  Secrets secrets;
  const auto nothing = [](const std::string&) { return std::optional<std::string>(); };
  CHECK_THROWS_WITH_AS((void)read_config("[database]\n", "s.toml", {registry, nothing, secrets}),
                       doctest::Contains("s.toml:1: database.url: is missing; give the"),
                       ConfigError);
}

TEST_CASE("a file that is not there is named with the ways to name another") {
  const auto registry = handlers_for_test();
  Secrets secrets;
  CHECK_THROWS_WITH_AS((void)load_config("/no/such.toml", {registry, variables, secrets}),
                       doctest::Contains("/no/such.toml: cannot be read (No such file"),
                       ConfigError);
}

TEST_CASE("an empty file is a configuration, a folder is none") {
  const auto registry = handlers_for_test();
  Secrets secrets;
  CHECK(load_config("/dev/null", {registry, variables, secrets}).processes.empty());
  CHECK_THROWS_WITH_AS((void)load_config("/tmp", {registry, variables, secrets}),
                       doctest::Contains("/tmp: cannot be read (Is a directory"), ConfigError);
}

TEST_CASE("secrets met in a file are learned") {
  const auto registry = handlers_for_test();
  Secrets secrets;
  (void)read_config(process_with("", "", "auth_token = \"canary-direct\"") +
                        "[log]\n[database]\nurl = \"host=db password=canary-keyword\"",
                    "s.toml", {registry, variables, secrets});
  CHECK(secrets.redact("a canary-direct b") == "a *** b");
  CHECK(secrets.redact("canary-keyword") == "***");
}
