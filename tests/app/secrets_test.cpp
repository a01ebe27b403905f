#include "app/secrets.hpp"

#include <doctest/doctest.h>

using namespace seriatim::app;

TEST_CASE("the password of anything like a URL is taken out, learned or not") {
  const Secrets secrets;
  CHECK(secrets.redact("at postgresql://me:canary@db/x?a=b and http://u:canary@h") ==
        "at postgresql://me:***@db/x?a=b and http://u:***@h");
  CHECK(secrets.redact("http://host:80/a@b") == "http://host:80/a@b");
  CHECK(secrets.redact("http://user@host/") == "http://user@host/");
  CHECK(secrets.redact("postgresql://me:p@ss@db/x") == "postgresql://me:***@db/x");
}

TEST_CASE("passwords of connection strings are learned in every form they appear in") {
  Secrets secrets;
  secrets.learn_from_url("postgresql://me:can%2Fary1@db/x?sslpassword=canary2");
  secrets.learn_from_url("host=db password = 'canary 3' user=me");
  secrets.learn_from_url("postgresql://me:cana/ry4@db/x");
  CHECK(secrets.redact("can%2Fary1 can/ary1 canary2 canary 3 cana/ry4") == "*** *** *** *** ***");
  CHECK(secrets.redact("invalid port number: \"cana\"") == "invalid port number: \"***\"");
  secrets.learn_from_url("postgresql://me:canary5@ca/na?ry://a:b@db/x");  // libpq: host "ca"
  CHECK(secrets.redact("no host canary5@ca/na?ry://a:b") == "no host ***");
}

TEST_CASE("what libpq quotes of a malformed database URL is taken out") {
  for (const auto* url : {"postgresql:/me:canary@db/x", "canary", "postgresql:/me:canary@db?a=b"}) {
    Secrets secrets;
    secrets.learn_from_database_url(url);
    CHECK(secrets.redact("missing \"=\" after \"" + std::string(url).substr(0, 27) + "\"")
              .find("canary") == std::string::npos);
  }
}

TEST_CASE("a secret that contains another is taken out whole") {
  Secrets secrets;
  secrets.learn("canary");
  secrets.learn("canary-long");
  CHECK(secrets.redact("canary-long canary") == "*** ***");
}

TEST_CASE("values too short to be distinguished from words are left") {
  Secrets secrets;
  secrets.learn("row");
  CHECK(secrets.redact("row 1") == "row 1");
}

TEST_CASE("keys are known for secrets by their names") {
  for (const auto* name : {"auth_token", "SMS_PASSWORD", "secret", "Authorization", "x-api-key"}) {
    CHECK(names_a_secret(name));
  }
  for (const auto* name : {"url", "key", "from", "body", "table"})
    CHECK_FALSE(names_a_secret(name));
}
