#pragma once

namespace seriatim::app {

inline constexpr const char* about =
    "seriatim reads an outbox in PostgreSQL and hands every committed row, in order, one after\n"
    "another, to a handler - and halts rather than skip one.";

inline constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 failure, 2 usage or configuration, 3 a lane is halted;\n"
    "128 + the signal's number when a second signal ended it at once.";

inline constexpr const char* start_here =
    "Start:    seriatim init && seriatim check && seriatim run\n"
    "At 3 a.m. seriatim status, seriatim why PROCESS ID\n\n"
    "`seriatim VERB --help` says more. The configuration is ./seriatim.toml,\n"
    "$SERIATIM_CONFIG or --config FILE; see docs/configuration.md.\n\n";

// What `seriatim VERB --help` shows under the options: examples, then what to know.

inline constexpr const char* run_examples =
    "  seriatim run\n"
    "  seriatim run booking_sms --log-format json\n"
    "  seriatim run --drain          deliver what is there, then end\n\n"
    "The log goes to stderr. Before it starts, run checks each process as `seriatim check`\n"
    "does and refuses (exit 1) a table on which rows could be lost. The first signal lets\n"
    "the call in flight finish (exit 0); a second one, or the end of the grace, ends at once.\n"
    "With --drain a lane that ended halted makes the exit code 3.";

inline constexpr const char* preview_examples =
    "  seriatim preview booking_sms --rows 3\n"
    "  seriatim preview booking_sms --json | jq '.rows[0].request'\n\n"
    "Shows bodies too: they may be confidential. Secrets are masked as ***. What only the\n"
    "delivery knows is in angle brackets. The numbers are those of the next delivery, if every\n"
    "row before is delivered and nobody acts. Only the database is connected to, and nothing is\n"
    "written there. Exit 1 if a row cannot be rendered or read.";

inline constexpr const char* why_examples =
    "  seriatim why booking_sms 4711\n"
    "  seriatim why booking_sms 4711 --json | jq -r .state\n"
    "  seriatim why -- booking_sms -5      an id that begins with -\n\n"
    "Exit 1 where no such row is to be seen, 3 where its lane is halted.";

inline constexpr const char* rewind_examples =
    "  seriatim rewind booking_sms --to 4711                  what would happen\n"
    "  seriatim rewind booking_sms --to 4711 --yes --reason 'provider lost them, ticket 17'\n"
    "  seriatim rewind model --to start --yes --reason 'rebuild'\n"
    "  seriatim rewind booking_sms --to end --yes --reason 'backlog is void'\n\n"
    "The row named is the next to be delivered. In id order a time means the first row\n"
    "created then or later, by id. A jump forwards waits until no open transaction can still\n"
    "commit a row it would pass. The ledger and the journal keep what was jumped.";

inline constexpr const char* lanes_examples =
    "  seriatim lanes booking_sms 4 --reason 'receiver takes four at once'\n\n"
    "Sets a barrier, waits until every lane has delivered all of its rows up to it (Ctrl-C\n"
    "gives up and takes it away), then exchanges the lanes. Relays configured with another\n"
    "number deliver nothing from then on: start them with the new one before or after.";

inline constexpr const char* prune_examples =
    "  seriatim prune --dry-run\n"
    "  seriatim prune booking_sms --older-than 30d --reason 'nightly'\n"
    "  seriatim prune --table seriatim.outbox --older-than 1h --batch 200\n\n"
    "Never a row at or above the lowest cursor of any process that reads the table, nor one\n"
    "that is parked, or that a ledger does not know as delivered or set aside. Ctrl-C ends it\n"
    "between two batches. Exit 1 where rows were found that were never delivered.";

inline constexpr const char* adopt_examples =
    "  seriatim adopt booking_sms --reason 'failed over to db2, ticket 17'\n"
    "  seriatim adopt sms --from booking_sms      the process was renamed\n"
    "  seriatim adopt sms                         … no, it is another one\n"
    "  seriatim adopt sms --source-changed --old-rows skip --reason 'only from now on'\n\n"
    "A lane halts with SOURCE_CHANGED or CONFIG_CHANGED if its cursor was kept for another\n"
    "server, timeline, database, table or order. Rows may be missing or come again there:\n"
    "check first, then adopt. What was noted and what is now are shown and journalled.\n\n"
    "It halts with CONFIG_CHANGED too if `where` or `ignore` was changed and rows behind its\n"
    "cursor match now. `check` counts them. `--old-rows skip` passes them over, `deliver` hands\n"
    "them over as late rows, in between new ones.";

}  // namespace seriatim::app
