#include "console/page_files.hpp"

#include <algorithm>
#include <console_page.hpp>

namespace seriatim::console {

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

HttpResponse html(const std::string& text) {
  return {200, text, "text/html; charset=utf-8"};
}

HttpResponse forever(const Asset& asset) {
  HttpResponse response{200, std::string(asset.text), std::string(asset.content_type)};
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

}  // namespace

std::vector<HttpRoute> page_routes(std::span<const Asset> files, std::string_view hash) {
  const auto folder = "/assets/" + std::string(hash);
  std::vector<HttpRoute> routes;
  for (const auto& asset : files) {
    if (asset.name != "index.html") {
      routes.push_back({folder + '/' + std::string(asset.name),
                        [&asset](const HttpRequest&) { return forever(asset); }});
      continue;
    }
    const auto text = replaced(std::string(asset.text), "{assets}", folder);
    for (const char* path :
         {"/", "/p/{process}", "/p/{process}/row", "/journal", "/instances", "/checks", "/login"}) {
      routes.push_back({path, [text](const HttpRequest&) { return html(text); }});
    }
  }
  return routes;
}

std::vector<HttpRoute> page_routes() {
  return page_routes(page::files, page::hash);
}

}  // namespace seriatim::console
