// What errors of the server speak against.
#include "redis/redis_refusal.hpp"

#include <doctest/doctest.h>

using namespace seriatim::handlers;

TEST_CASE("what may pass speaks against the server, not against the row") {
  for (const char* error :
       {"LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica.",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "@user_script: 30: -OOM command not allowed when used memory > 'maxmemory'.",
        "MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist",
        "CLUSTERDOWN The cluster is down", "MOVED 3999 127.0.0.1:6381",
        "NOAUTH Authentication required.", "WRONGPASS invalid username-password pair",
        "NOPERM this user has no permissions to run the 'xadd' command",
        "NOREPLICAS Not enough good replicas to write.", "BUSY Redis is busy running a script",
        "MASTERDOWN Link with MASTER is down", "ERR max number of clients reached",
        "ERR unknown command 'EVAL'"}) {
    CAPTURE(error);
    CHECK(refusal_of(error) == RedisRefusal::server);
  }
}

TEST_CASE("a key of another type, and what is too large, will not pass") {
  CHECK(refusal_of("WRONGTYPE Operation against a key holding the wrong kind of value") ==
        RedisRefusal::stream);
  for (const char* error :
       {"ERR Protocol error: invalid bulk length", "ERR Elements are too large to be stored",
        "ERR string exceeds maximum allowed size (proto-max-bulk-len)"}) {
    CAPTURE(error);
    CHECK(refusal_of(error) == RedisRefusal::row);
  }
}

TEST_CASE("an id the stream is past speaks against neither") {
  CHECK(refusal_of("ERR The ID specified in XADD is equal or smaller than the target stream top "
                   "item") == RedisRefusal::id);
}
