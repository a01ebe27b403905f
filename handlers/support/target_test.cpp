// Which targets are refused, before and after the name is resolved.
#include <doctest/doctest.h>

#include "support/address_policy.hpp"
#include "support/cannot_render.hpp"
#include "support/url.hpp"

using namespace seriatim::handlers;

TEST_CASE("a URL is taken apart") {
  const auto url = parse_url("HTTPS://Example.COM:8443/a%20b?c=d");
  CHECK(url.tls);
  CHECK(url.host == "example.com");
  CHECK(url.port == "8443");
  CHECK(url.target == "/a%20b?c=d");
  CHECK(url.host_field == "example.com:8443");
  CHECK(url.origin() == "https://example.com:8443");

  CHECK(parse_url("http://a").target == "/");
  CHECK(parse_url("http://a?x=1").target == "/?x=1");
  CHECK(parse_url("http://a:80/").host_field == "a");
  CHECK(parse_url("https://a").port == "443");
  CHECK(parse_url("http://[::1]:81/").host == "::1");
  CHECK(parse_url("http://[::1]:81/").host_field == "[::1]:81");
  CHECK(parse_url("http://a./").name() == "a");
}

TEST_CASE("a URL that is not plain http or https is refused, without being quoted") {
  for (const auto* text : {"",
                           "/",
                           "example.com",
                           "file:///etc/passwd",
                           "gopher://a/",
                           "ftp://a/",
                           "javascript:x",
                           "http:///path",
                           "http://",
                           "http://user@a/",
                           "http://user:pass@a/",
                           "http://@a/",
                           "http://a/#fragment",
                           "http://a b/",
                           "http://a/\r\nX: y",
                           "http://a/ b",
                           "http://a:0/",
                           "http://a:65536/",
                           "http://a:http/",
                           "http://a%2eb/",
                           "http://a%00b/",
                           "http://a..b/",
                           "http://.a/",
                           "http://2130706433/",
                           "http://0x7f.1/",
                           "http://0x7f000001/",
                           "http://127.1/",
                           "http://017700000001/",
                           "http://127.0.0.1./",
                           "http://1.2.3.4.5/",
                           "http://256.1.1.1/",
                           "http://[v1.x]/",
                           "http://[fe80::1%25eth0]/",
                           "http://[::1/",
                           "http://caf\xc3\xa9.example/"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS((void)parse_url(text), CannotRender);
  }
  CHECK_THROWS_AS((void)parse_url("http://a/" + std::string(9000, 'x')), CannotRender);
  try {
    (void)parse_url("http://user:canary@a/");
  } catch (const CannotRender& e) {
    CHECK(std::string(e.what()).find("canary") == std::string::npos);
  }
}

TEST_CASE("addresses that are not public are refused") {
  for (const auto* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.1",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.255.255.254",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.0.2.1",
                              "192.168.0.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.1",
                              "203.0.113.1",
                              "224.0.0.1",
                              "239.1.1.1",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::ffff:127.0.0.1",
                              "::ffff:8.8.8.8",
                              "::127.0.0.1",
                              "64:ff9b::7f00:1",
                              "64:ff9b::a9fe:a9fe",
                              "64:ff9b:1::1",
                              "100::1",
                              "2001::1",
                              "2001:db8::1",
                              "2002:7f00:1::",
                              "3fff::1",
                              "fc00::1",
                              "fd00:ec2::254",
                              "fe80::1",
                              "febf::1",
                              "fec0::1",
                              "ff02::1",
                              "not an address"}) {
    CAPTURE(std::string(address));
    CHECK(!refusal_of_address(address).empty());
  }
}

TEST_CASE("public addresses are not") {
  for (const auto* address :
       {"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
        "2606:4700:4700::1111", "2a00:1450:4001::1", "64:ff9b::808:808"}) {
    CAPTURE(std::string(address));
    CHECK(refusal_of_address(address).empty());
  }
}

TEST_CASE("a URL names a refused target before anything is resolved") {
  for (const auto* text : {"http://127.0.0.1/", "http://169.254.169.254/latest/meta-data",
                           "http://[::ffff:127.0.0.1]/", "http://[fd00:ec2::254]/",
                           "http://localhost/", "http://localhost./", "http://LOCALHOST:81/",
                           "http://x.localhost/", "http://x.localhost./"}) {
    CAPTURE(std::string(text));
    CHECK(!refusal_of_url(parse_url(text)).empty());
  }
  CHECK(refusal_of_url(parse_url("http://notlocalhost/")).empty());
  CHECK(refusal_of_url(parse_url("https://example.com/")).empty());
}
